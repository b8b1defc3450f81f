import type { Results } from './measure.ts'
import type { OperationName } from './options.ts'

export interface Verdict {
  promise: string
  figure: string
  holds: boolean
}

type Judged = Verdict & { of: OperationName[] }

const SHARE_MIN = 0.6
const OVER_NEXT_MIN = 2.5
const LIST_COST_MAX = 1.25
const CREATE_P99_MAX_MS = 50

export function judge(results: Results, only: OperationName[]): Verdict[] {
  const judgeShare = (name: OperationName, title: string) => {
    const share = results.ratio([name, 'fast'], [name, 'fastify'])
    const promise = `${title}: at least ${SHARE_MIN * 100} % of Fastify + pg`
    const figure = `${Math.round(share * 100)} %`
    return { of: [name], promise, figure, holds: share >= SHARE_MIN }
  }
  const verdicts: Judged[] = [
    judgeShare('create', 'create charge'),
    judgeOverNext(results),
    judgeCreateTail(results),
    judgeShare('read', 'read charge'),
    judgeShare('account', 'read account'),
    judgeShare('withdraw', 'withdraw on one account'),
    judgeListCost(results),
  ]
  return verdicts.filter(({ of }) => of.every(name => only.includes(name)))
}

function judgeOverNext(results: Results): Judged {
  const times = results.ratio(['create', 'fast'], ['create', 'next'])
  return {
    of: ['create'],
    promise: `create charge: at least ${OVER_NEXT_MIN} times the same handler under Next`,
    figure: `${times.toFixed(1)} times`,
    holds: times >= OVER_NEXT_MIN,
  }
}

function judgeCreateTail(results: Results): Judged {
  const { p99 } = results.of(['create', 'fast'])
  return {
    of: ['create'],
    promise: `create charge: p99 at most ${CREATE_P99_MAX_MS} ms`,
    figure: `${p99.toFixed(1)} ms`,
    holds: p99 <= CREATE_P99_MAX_MS,
  }
}

function judgeListCost(results: Results): Judged {
  const cost = results.ratio(['small', 'fast'], ['large', 'fast'])
  return {
    of: ['small', 'large'],
    promise: `list: the large account costs at most ${Math.round((LIST_COST_MAX - 1) * 100)} % more than the small one`,
    figure: `${((cost - 1) * 100).toFixed(0)} %`,
    holds: cost <= LIST_COST_MAX,
  }
}
