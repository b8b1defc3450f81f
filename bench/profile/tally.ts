import type { Profiler } from 'node:inspector'
import { type CallFrame, formatLocation, groupOf, isIdle } from './groups.ts'

export interface Tally {
  busyUs: number
  idleUs: number
  /** Time per group: of its own functions, and including node functions called by them. */
  groups: { group: string; selfUs: number; withNodeUs: number }[]
  functions: { location: string; group: string; selfUs: number }[]
}

interface NodeGroup {
  frame: CallFrame
  group: string
  /** Group that the time counts for: the caller's group for a function of node. */
  billedGroup: string
}

const NODE_GROUP_PATTERN = /^node: /
const UNKNOWN_GROUP = 'other'

/** Sums samples by group and function; a sample counts for the function that was running. */
export function tally(profile: Profiler.Profile): Tally {
  const groupedNodes = groupNodes(profile.nodes)
  const self = new Map<string, number>()
  const withNode = new Map<string, number>()
  const functions = new Map<string, { location: string; group: string; selfUs: number }>()
  let [busyUs, idleUs] = [0, 0]
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const spentUs = Math.max(0, profile.timeDeltas?.[index + 1] ?? 0)
    const node = groupedNodes.get(id)
    if (!node || isIdle(node.frame)) {
      idleUs += spentUs
      continue
    }
    busyUs += spentUs
    add(self, node.group, spentUs)
    add(withNode, node.billedGroup, spentUs)
    const location = formatLocation(node.frame)
    const sum = functions.get(location) ?? { location, group: node.group, selfUs: 0 }
    sum.selfUs += spentUs
    functions.set(location, sum)
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
  const groupedNodes = new Map<number, NodeGroup>()
  const visit = (id: number, caller?: NodeGroup): void => {
    const node = byId.get(id)
    if (!node) return
    const group = groupOf(node.callFrame) ?? caller?.group ?? UNKNOWN_GROUP
    const isCalledByGroup =
      NODE_GROUP_PATTERN.test(group) && caller !== undefined && !isRoot(caller)
    const here = {
      frame: node.callFrame,
      group,
      billedGroup: isCalledByGroup ? caller.billedGroup : group,
    }
    groupedNodes.set(id, here)
    for (const child of node.children ?? []) visit(child, here)
  }
  const [root] = nodes
  if (root) visit(root.id)
  return groupedNodes
}

function isRoot({ frame }: NodeGroup): boolean {
  return frame.functionName === '(root)'
}

function add(sums: Map<string, number>, key: string, us: number): void {
  sums.set(key, (sums.get(key) ?? 0) + us)
}
