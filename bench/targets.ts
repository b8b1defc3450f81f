import type { Results } from './measure.ts'
import type { OperationName } from './options.ts'

export interface Verdict {
  requirement: string
  measured: string
  isMet: boolean
}

type Judged = Verdict & { operations: OperationName[] }

const FASTIFY_SHARE_MIN = 0.6
const LIST_COST_RATIO_MAX = 1.25
const CREATE_P99_MAX_MS = 50

export function judgeResults(results: Results, only: OperationName[]): Verdict[] {
  const judgeShare = (name: OperationName, title: string) => {
    const share = results.ratio([name, 'fast'], [name, 'fastify'])
    const requirement = `${title}: at least ${FASTIFY_SHARE_MIN * 100} % of Fastify + pg`
    const measured = `${Math.round(share * 100)} %`
    return { operations: [name], requirement, measured, isMet: share >= FASTIFY_SHARE_MIN }
  }
  const verdicts: Judged[] = [
    judgeShare('create', 'create charge'),
    judgeCreateTail(results),
    judgeShare('read', 'read charge'),
    judgeShare('account', 'read account'),
    judgeShare('withdraw', 'withdraw on one account'),
    judgeListCost(results),
  ]
  return verdicts.filter(({ operations: of }) => of.every(name => only.includes(name)))
}

function judgeCreateTail(results: Results): Judged {
  const { p99 } = results.figureOf(['create', 'fast'])
  return {
    operations: ['create'],
    requirement: `create charge: p99 at most ${CREATE_P99_MAX_MS} ms`,
    measured: `${p99.toFixed(1)} ms`,
    isMet: p99 <= CREATE_P99_MAX_MS,
  }
}

function judgeListCost(results: Results): Judged {
  const cost = results.ratio(['small', 'fast'], ['large', 'fast'])
  return {
    operations: ['small', 'large'],
    requirement: `list: the large account costs at most ${Math.round((LIST_COST_RATIO_MAX - 1) * 100)} % more than the small one`,
    measured: `${((cost - 1) * 100).toFixed(0)} %`,
    isMet: cost <= LIST_COST_RATIO_MAX,
  }
}
