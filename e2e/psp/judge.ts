/**
 * `npm run judge -- <openapi.yaml>`: judges the traffic that the banks of the last test run recorded,
 * by Efí's SDK and by Banco Central's document. A judge that was asked for and cannot run has failed.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CORRECTIONS, correct } from './corrections.ts'
import { DocumentJudge, type Outcome, type Verdict } from './judge-document.ts'
import {
  isKnownToSdk,
  isRequestJudged,
  isSuccess,
  judgeExchange,
  withoutDisagreements,
} from './judge-sdk.ts'
import { DOCUMENT_FILE, readOpenApi } from './openapi.ts'
import type { Exchange } from './traffic.ts'

const FOLDER = process.env.BANK_TRAFFIC ?? '.cache/bank-traffic'
const OBJECTIONS_MAX = 20

const [, givenFile] = process.argv.slice(2)
const REASONS: Record<Exclude<Outcome, 'accepted' | 'refused'>, string> = {
  'refused by both': 'wrong on purpose, which the document and the bank refused',
  ordered: 'changed by a fault, a quirk or the text of a test',
  absent: 'no whole response',
  'not described': 'not described',
}

process.exitCode = judgeRun() ? 0 : 1

function judgeRun(): boolean {
  try {
    const exchanges = readTraffic()
    const isAcceptedBySdk = judgeBySdk(exchanges)
    return judgeByDocument(exchanges) && isAcceptedBySdk
  } catch (error) {
    print(`The judge could not run: ${error instanceof Error ? error.message : error}`)
    return false
  }
}

function readTraffic(): Exchange[] {
  const exchanges = globSync(join(FOLDER, '*.jsonl')).flatMap(file =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(line => line !== '')
      .map((line): Exchange => JSON.parse(line)),
  )
  if (exchanges.length === 0) throw new Error(`no traffic in ${FOLDER}: run the tests first`)
  return exchanges
}

function judgeBySdk(exchanges: Exchange[]): boolean {
  const calls = exchanges.filter(isKnownToSdk)
  const objections = exchanges.flatMap(exchange => judgeExchange(withoutDisagreements(exchange)))
  const requests = calls.filter(isRequestJudged).length
  const responses = calls.filter(isSuccess).length
  if (responses === 0) throw new Error(`no traffic of Efí in ${FOLDER}: its SDK judged nothing`)
  print(`Efí's SDK: ${requests} requests, ${responses} responses, ${objections.length} objections`)
  return report(objections)
}

function judgeByDocument(exchanges: Exchange[]): boolean {
  if (givenFile === undefined && !process.env.PIX_OPENAPI && !existsSync(DOCUMENT_FILE)) {
    print(`Banco Central's document: this judge did not run, because there is no ${DOCUMENT_FILE}`)
    print('  See CONTRIBUTING.md for where to get it')
    return true
  }
  const document = readOpenApi(givenFile ?? DOCUMENT_FILE)
  const judges = {
    'api-pix': new DocumentJudge(correct(document, 'api-pix')),
    efi: new DocumentJudge(correct(document, 'efi')),
  }
  const verdicts = exchanges.flatMap(exchange => judges[exchange.kind].judge(exchange))
  const refused = count(verdicts, 'refused')
  print(`Banco Central's document with ${CORRECTIONS.length} corrections: ${refused} refused`)
  const judged = select(verdicts, ['accepted', 'refused'])
  for (const line of countByOperation(judged)) print(`  ${line}`)
  print(`  sum: ${count(judged)}`)
  print('not judged:')
  for (const outcome of ['refused by both', 'ordered', 'absent'] as const)
    print(`  ${REASONS[outcome]}: ${count(verdicts, outcome)}`)
  for (const line of countByOperation(select(verdicts, ['not described'])))
    print(`  ${REASONS['not described']}: ${line}`)
  return report(
    verdicts.flatMap(({ operation, part, objections }) =>
      objections.map(objection => `${operation}, ${part}: ${objection}`),
    ),
  )
}

function select(verdicts: Verdict[], outcomes: Outcome[]): Verdict[] {
  return verdicts.filter(({ outcome }) => outcomes.includes(outcome))
}

function count(verdicts: Verdict[], outcome?: Outcome): string {
  const counted = outcome ? select(verdicts, [outcome]) : verdicts
  const requests = counted.filter(({ part }) => part === 'request').length
  return `${requests} requests, ${counted.length - requests} responses`
}

function countByOperation(verdicts: Verdict[]): string[] {
  const groups = Map.groupBy(verdicts, ({ operation }) => operation)
  return [...groups].map(([operation, group]) => `${operation}: ${count(group)}`).sort()
}

/** Prints the objections, each once; returns whether there are none. */
function report(objections: string[]): boolean {
  for (const objection of [...new Set(objections)].slice(0, OBJECTIONS_MAX))
    print(`  refused: ${objection.slice(0, 1000)}`)
  return objections.length === 0
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
