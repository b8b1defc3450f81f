import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@hey-api/openapi-ts'
import { generateSource } from 'oazapfts'
import { generate } from 'orval'
import { InputData, JSONSchemaInput, quicktypeMultiFile } from 'quicktype-core'
import { generateApi } from 'swagger-typescript-api'

/** Generates a client with each generator that runs on Node, from an OpenAPI document, into a folder. */
const [, , document = '', folder = ''] = process.argv
const into = name => join(folder, name)

await createClient({ input: document, output: into('hey-api'), logs: { level: 'error' } })
await generate({
  input: { target: document, validation: true },
  output: { target: into('orval/api.ts'), client: 'fetch', mode: 'split' },
})
mkdirSync(into('oazapfts'), { recursive: true })
writeFileSync(into('oazapfts/api.ts'), await generateSource(document))
await generateApi({
  input: document,
  output: into('swagger-typescript-api'),
  fileName: 'api.ts',
  silent: true,
})

const { components } = JSON.parse(readFileSync(document, 'utf8'))
const schemas = new JSONSchemaInput(undefined)
for (const name of Object.keys(components.schemas)) {
  const schema = JSON.stringify({ $ref: `#/components/schemas/${name}`, components })
  await schemas.addSource({ name, schema })
}
for (const [lang, rendererOptions] of [
  ['java', { 'just-types': 'true', package: 'troco' }],
  ['python', {}],
]) {
  const inputData = new InputData()
  inputData.addInput(schemas)
  const files = await quicktypeMultiFile({ inputData, lang, rendererOptions })
  mkdirSync(into(`quicktype-${lang}`), { recursive: true })
  for (const [file, { lines }] of files) {
    const name = file === 'stdout' ? 'troco_types.py' : file
    writeFileSync(into(`quicktype-${lang}/${name}`), lines.join('\n'))
  }
}
