import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Postgres } from '@tools/postgres'
import { ClusterNode } from './cluster-node.ts'
import { Timeline } from './timeline.ts'

/** How a cluster is made. */
export interface ClusterOptions {
  /** Its database; the cluster stops it when it closes. */
  readonly postgres: Postgres
  /** Milliseconds by which the clock of each node is fast; as many nodes. */
  readonly clockShifts: readonly number[]
  /** Milliseconds. */
  readonly lease: { readonly ttl: number; readonly beat: number }
  readonly drainTimeout?: number
}

/** Nodes on one Postgres, and what they leave. */
export interface Cluster {
  readonly postgres: Postgres
  readonly nodes: readonly ClusterNode[]
  readonly timeline: Timeline
  /** When processes were stopped. */
  readonly stops: Timeline
  /** When connections to the database were ended: `connections`. */
  readonly cuts: Timeline
  /** The file of effects. */
  readonly effects: string
  /** The file of what models were shown. */
  readonly shown: string
  /** The folder of the nodes' logs. */
  readonly folder: string
  /** Crashes the database, which is back after `down`, or at once. */
  crashDatabase(down?: () => Promise<unknown>): Promise<void>
  close(): Promise<void>
}

/** Makes the nodes, which are started by the caller. */
export function createCluster({
  postgres,
  clockShifts,
  lease,
  drainTimeout = 2_000
}: ClusterOptions): Cluster {
  const folder = mkdtempSync(join(tmpdir(), 'cluster-'))
  const effects = join(folder, 'effects')
  const shown = join(folder, 'shown')
  for (const file of [effects, shown]) writeFileSync(file, '')
  const timeline = new Timeline()
  const stops = new Timeline()
  const cuts = new Timeline()
  timeline.record('database', true)
  const nodes = clockShifts.map((clockShift, index) => {
    const name = String.fromCodePoint(97 + index)
    const log = join(folder, `${name}.log`)
    return new ClusterNode(name, {
      database: postgres.url,
      clockShift,
      timeline,
      stops,
      effects,
      shown,
      log,
      lease,
      drainTimeout
    })
  })
  return {
    postgres,
    nodes,
    timeline,
    stops,
    cuts,
    effects,
    shown,
    folder,
    async crashDatabase(down) {
      timeline.record('database', false)
      await postgres.pause('immediate')
      await down?.()
      await postgres.resume()
      timeline.record('database', true)
    },
    async close() {
      await Promise.all(nodes.map((node) => node.close()))
      await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
