// Copies what a server, a worker and the commands run on into the folder that the argument names, for the
// Containerfile. Runs on the pinned Node, after a build.
import { cpSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import nft from 'next/dist/compiled/@vercel/nft/index.js'

const target = process.argv[2]
const FOLDERS = ['app', 'bin', 'cli', 'docs', 'lib', 'messages', 'packages', 'prisma', 'public']
const FILES = ['LICENSE', 'next.config.js', 'package.json']
/** Packages copied whole: the trace does not follow names that Next computes, nor `import.meta.resolve`. */
const PACKAGES = ['node_modules/next', 'node_modules/@fontsource-variable/hanken-grotesk']
const NOT_RUN =
  /\.test\.ts$|^(lib|packages)\/testing$|^bin\/testing\.ts$|^docs\/(decisions|home\.png)$/
const NOT_SERVED = /\.(map|nft\.json)$|\/(cache|diagnostics|trace|trace-build|types|turbopack)$/
/** Required only in development, by builds, by experiments of Next and by its images, which are off. */
const NOT_REQUIRED = new RegExp(
  [
    /\.(map|d\.ts)$/,
    /^node_modules\/(sharp|@img|@next\/swc-.*|caniuse-lite)\//,
    /^node_modules\/next\/dist\/(esm|docs|compiled\/react[^/]*-experimental)(\/|$)/,
    /^node_modules\/next\/dist\/compiled\/next-server\/.*\.dev\.js$/,
    /^node_modules\/(react|react-dom|next\/dist\/compiled)\/.*\.development/,
  ]
    .map(({ source }) => source)
    .join('|'),
)

const build = findBuild()
for (const file of FILES) copy(file)
for (const folder of FOLDERS) copy(folder, path => !NOT_RUN.test(path))
for (const folder of PACKAGES) copy(folder, path => !isLeftOut(path))
copy(build, path => !NOT_SERVED.test(path), '.next/image')
for (const file of await listPackageFiles()) copy(file)

function copy(path, isCopied = () => true, name = path) {
  const to = join(target, name)
  mkdirSync(dirname(to), { recursive: true })
  const filter = source => isCopied(relative('.', source))
  cpSync(path, to, { recursive: true, filter, verbatimSymlinks: true })
}

function findBuild() {
  const [stamp, ...others] = globSync('.next/*/.made-from')
  if (stamp === undefined || others.length > 0) throw new Error('Expected one build in .next')
  return dirname(stamp)
}

/** Lists the files of packages that the program requires, and those that the built pages do. */
async function listPackageFiles() {
  const { fileList } = await nft.nodeFileTrace(
    ['bin/troco.ts', 'next.config.js', ...globSync('app/**/route.ts')],
    { conditions: ['node', 'import', 'require'], readFile: readJavaScript, ignore: isLeftOut },
  )
  const listed = globSync(`${build}/server/**/*.nft.json`).flatMap(list =>
    JSON.parse(readFileSync(list, 'utf8')).files.map(file =>
      relative('.', resolve(dirname(list), file)),
    ),
  )
  const files = [...fileList, ...listed.filter(path => !isLeftOut(path))]
  return new Set(files.filter(path => path.startsWith('node_modules/')))
}

function isLeftOut(path) {
  return NOT_REQUIRED.test(path)
}

async function readJavaScript(path) {
  try {
    const source = readFileSync(path, 'utf8')
    return path.endsWith('.ts') ? stripTypeScriptTypes(source) : source
  } catch (error) {
    if (['ENOENT', 'EISDIR'].includes(error.code)) return null
    throw error
  }
}
