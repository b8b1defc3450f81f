import type { Profiler } from 'node:inspector'
import { type CallFrame, formatLocation, groupOf, isIdle } from './groups.ts'

export interface Tally {
  busyUs: number
  idleUs: number
  /** Time per group: of its own functions, and including node functions called by them. */
  groups: { group: string; selfUs: number; withNodeUs: number }[]
  functions: { place: string; group: string; selfUs: number }[]
}

interface NodeGroup {
  frame: CallFrame
  group: string
  /** Group that the time counts for: the caller's group for a function of node. */
  client: string
}

const NODE = /^node: /
const UNKNOWN_GROUP = 'other'

/** Sums samples by group and function; a sample counts for the function that was running. */
export function tally(profile: Profiler.Profile): Tally {
  const known = groupNodes(profile.nodes)
  const self = new Map<string, number>()
  const withNode = new Map<string, number>()
  const functions = new Map<string, { place: string; group: string; selfUs: number }>()
  let [busyUs, idleUs] = [0, 0]
  for (const [at, id] of (profile.samples ?? []).entries()) {
    const spentUs = Math.max(0, profile.timeDeltas?.[at + 1] ?? 0)
    const node = known.get(id)
    if (!node || isIdle(node.frame)) {
      idleUs += spentUs
      continue
    }
    busyUs += spentUs
    add(self, node.group, spentUs)
    add(withNode, node.client, spentUs)
    const place = formatLocation(node.frame)
    const found = functions.get(place) ?? { place, group: node.group, selfUs: 0 }
    found.selfUs += spentUs
    functions.set(place, found)
  }
  const groups = [...new Set([...self.keys(), ...withNode.keys()])].map(group => ({
    group,
    selfUs: self.get(group) ?? 0,
    withNodeUs: withNode.get(group) ?? 0,
  }))
  return {
    busyUs,
    idleUs,
    groups: groups.toSorted((a, b) => b.withNodeUs - a.withNodeUs || b.selfUs - a.selfUs),
    functions: [...functions.values()].toSorted((a, b) => b.selfUs - a.selfUs),
  }
}

/** Walks the tree from the root, so that each node knows its caller's group. */
function groupNodes(nodes: Profiler.ProfileNode[]): Map<number, NodeGroup> {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const known = new Map<number, NodeGroup>()
  const visit = (id: number, caller?: NodeGroup): void => {
    const node = byId.get(id)
    if (!node) return
    const group = groupOf(node.callFrame) ?? caller?.group ?? UNKNOWN_GROUP
    const byCaller = NODE.test(group) && caller !== undefined && !isRoot(caller)
    const here = { frame: node.callFrame, group, client: byCaller ? caller.client : group }
    known.set(id, here)
    for (const child of node.children ?? []) visit(child, here)
  }
  const [root] = nodes
  if (root) visit(root.id)
  return known
}

function isRoot({ frame }: NodeGroup): boolean {
  return frame.functionName === '(root)'
}

function add(sums: Map<string, number>, key: string, us: number): void {
  sums.set(key, (sums.get(key) ?? 0) + us)
}
