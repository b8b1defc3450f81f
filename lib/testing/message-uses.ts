import {
  type CallExpression,
  type ElementAccessExpression,
  isArrowFunction,
  isAsExpression,
  isCallExpression,
  isElementAccessExpression,
  isIdentifier,
  isObjectLiteralExpression,
  isParameterDeclaration,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isSpreadAssignment,
  isStringLiteral,
  isTemplateExpression,
  type Node,
} from 'typescript/unstable/ast'
import { API, type Project, type Type } from 'typescript/unstable/sync'

/** Methods of next-intl's translators that take a key. */
const METHODS = ['rich', 'markup', 'has', 'raw']
/** Functions `t` without next-intl, by the beginning of the file, with their namespace. */
const OWN_TRANSLATORS = { 'lib/payer/': 'payer', 'lib/http/refusal-page.ts': 'refusal' }
/** The compiler is asked about files with such names only. */
const HAS_TRANSLATOR = /Translat/
const HAS_MESSAGES = /MESSAGES|#messages|words|Words|WORDS/

export interface MessageUse {
  /** Matches the keys of the messages. */
  keys: RegExp
  /** Names of the arguments that the call gives; null if they are not known or the text is only read. */
  given: ReadonlySet<string> | null
  /** Place in the code, as file:line. */
  place: string
}

/**
 * Returns the uses of messages by the files: keys that the compiler finds in calls of translators,
 * and properties of message files. A key that the code asserts (`as`) comes from data, so it uses
 * every key that its template can become.
 */
export function findMessageUses(files: string[]): MessageUse[] {
  const api = new API()
  const config = `${process.cwd()}/tsconfig.json`
  const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
  if (!project) throw new Error(`The compiler does not know ${config}`)
  const uses: MessageUse[] = []
  for (const file of files) {
    const source = project.program.getSourceFile(file)
    if (!source) continue
    const own = Object.entries(OWN_TRANSLATORS).find(([start]) => file.startsWith(start))
    const hasTranslator = own !== undefined || HAS_TRANSLATOR.test(source.text)
    const hasMessages = HAS_MESSAGES.test(source.text)
    const reading = { project, ownNamespace: own?.[1], hasTranslator, hasMessages }
    const visit = (node: Node): void => {
      const keys = keysAt(node, reading)
      const isKnown = isCallExpression(node) && keys.some(key => !key.includes('*'))
      const given = isKnown ? argumentsOf(project, node) : null
      const place = keys.length > 0 ? `${file}:${lineOf(source.text, node)}` : ''
      for (const key of keys) uses.push({ keys: patternOf(key), given, place })
      node.forEachChild(visit)
    }
    if (hasTranslator || hasMessages) visit(source)
  }
  api.close()
  return uses
}

function patternOf(key: string): RegExp {
  return new RegExp(`^${key.replaceAll('.', '\\.').replaceAll(/\*|\$\{[^}]+\}/g, '\\w+')}$`)
}

function lineOf(text: string, node: Node): number {
  return text.slice(0, node.getStart()).split('\n').length
}

/** Returns the names in a call's second argument; null if the call does not fill the message in. */
function argumentsOf(project: Project, call: CallExpression): ReadonlySet<string> | null {
  const { expression: callee, arguments: passed } = call
  if (isPropertyAccessExpression(callee) && ['has', 'raw'].includes(callee.name.text)) return null
  const [, values] = passed
  return values ? namesIn(project, values) : new Set()
}

/** Returns the properties of an object; null for a record of any names, such as stored parameters. */
function namesIn(project: Project, values: Node): ReadonlySet<string> | null {
  if (isObjectLiteralExpression(values)) {
    const parts = values.properties.map(part => {
      if (isSpreadAssignment(part)) return namesIn(project, part.expression)
      return new Set(part.name && 'text' in part.name ? [part.name.text] : [])
    })
    const names = new Set<string>()
    for (const part of parts) {
      if (part === null) return null
      for (const name of part) names.add(name)
    }
    return names
  }
  const { checker } = project
  const type = checker.getTypeAtLocation(values)
  const types = type?.isUnionType() ? type.getTypes() : type ? [type] : []
  const names = types.flatMap(one =>
    checker.getPropertiesOfType(one).map(property => property.name),
  )
  return names.length > 0 ? new Set(names) : null
}

interface Reading {
  project: Project
  ownNamespace: string | undefined
  hasTranslator: boolean
  hasMessages: boolean
}

function keysAt(node: Node, reading: Reading): string[] {
  const { project, ownNamespace, hasTranslator, hasMessages } = reading
  if (isCallExpression(node)) {
    const callee = node.expression
    const [key] = node.arguments
    if (!hasTranslator || !key || isArrowFunction(key) || isObjectLiteralExpression(key)) return []
    const isOwn = ownNamespace !== undefined && isIdentifier(callee) && callee.text === 't'
    const namespaces = isOwn ? [ownNamespace] : namespacesOf(project, callee)
    return namespaces ? keysOfCall(project, namespaces, key) : []
  }
  if (hasMessages && isPropertyAccessExpression(node)) {
    return keysOfProperty(project, project.checker.getSymbolAtLocation(node.name))
  }
  return hasMessages && isElementAccessExpression(node) ? keysOfElements(project, node) : []
}

function keysOfElements(
  project: Project,
  { expression, argumentExpression: index }: ElementAccessExpression,
) {
  // The keys of a parameter are counted where the function is called.
  if (declarationsOf(project, index).some(isParameterDeclaration)) return []
  const { checker } = project
  const type = checker.getTypeAtLocation(expression)
  const names = literalsOf(checker.getTypeAtLocation(index))
  return names.flatMap(name =>
    keysOfProperty(project, type && checker.getPropertyOfType(type, name)),
  )
}

/** Returns the namespaces of a translator, none for that of all messages; null for other functions. */
function namespacesOf({ checker }: Project, callee: Node): string[] | null {
  const isMethod = isPropertyAccessExpression(callee) && METHODS.includes(callee.name.text)
  const type = checker.getTypeAtLocation(isMethod ? callee.expression : callee)
  if (type?.getAliasSymbol()?.name !== 'Translator') return null
  return literalsOf(type.getAliasTypeArguments()[1])
}

function keysOfCall(project: Project, namespaces: string[], key: Node): string[] {
  if (isStringLiteral(key)) return withNamespaces(namespaces, [key.text])
  const asserted = [key, ...declarationsOf(project, key)].find(hasAssertion)
  const type = project.checker.getTypeAtLocation(key)
  const names = asserted ? [templateIn(asserted)] : literalsOf(type)
  if (names.length === 0) throw new Error(`The keys of ${key.getText()} are not known`)
  return withNamespaces(namespaces, names)
}

function withNamespaces(namespaces: string[], names: string[]): string[] {
  if (namespaces.length === 0) return names
  return namespaces.flatMap(namespace => names.map(name => `${namespace}.${name}`))
}

function declarationsOf(project: Project, node: Node): Node[] {
  if (!isIdentifier(node)) return []
  const declarations = project.checker.getSymbolAtLocation(node)?.declarations ?? []
  return declarations.flatMap(declaration => declaration.resolve(project) ?? [])
}

function hasAssertion(node: Node): boolean {
  const isConst = isAsExpression(node) && node.type.getText() === 'const'
  return (isAsExpression(node) && !isConst) || (node.forEachChild(hasAssertion) ?? false)
}

/** Returns the text of the first template in a node, or * for any key. */
function templateIn(node: Node): string {
  const find = (inner: Node): string | undefined =>
    isTemplateExpression(inner) ? inner.getText().slice(1, -1) : inner.forEachChild(find)
  return find(node) ?? '*'
}

function literalsOf(type: Type | undefined): string[] {
  if (type?.isStringLiteralType()) return [type.value]
  return type?.isUnionType() ? type.getTypes().flatMap(literalsOf) : []
}

type PropertySymbol = ReturnType<Project['checker']['getPropertyOfType']>

/** Returns the paths of a property in the message files that declare it. */
function keysOfProperty(project: Project, symbol: PropertySymbol): string[] {
  const declarations = (symbol?.declarations ?? []).filter(({ path }) =>
    /\/messages\/[\w-]+\/[\w-]+\.json$/.test(path),
  )
  return declarations.map(declaration => {
    const names: string[] = []
    for (let node = declaration.resolve(project); node; node = node.parent) {
      if (isPropertyAssignment(node) && isStringLiteral(node.name)) names.unshift(node.name.text)
    }
    return names.join('.')
  })
}
