import type { NodeLease, Stores } from '@svc/contract'
import type { ContractTest } from '../contract-test.ts'
import { storedRun } from '../stored-run.ts'

/** The stores of a node of a service. */
export type NodeStores = Stores & { readonly lease: NodeLease }

/** The stores of two nodes on one database. */
export interface TwoStores {
  readonly first: NodeStores
  readonly second: NodeStores
  /** Declares the node of `first` dead, as if it had not been seen for the time of its lease. It finds out by itself. */
  declareDead(): Promise<void>
}

/** Adds one test of the contract, with the stores of two new nodes. */
export type TestTwoStores = (name: string, run: (t: ContractTest, stores: TwoStores) => Promise<void>) => void

/** Creates a run of a node, and returns its id. */
export async function startRun({ runs }: NodeStores): Promise<string> {
  const run = storedRun()
  await runs.create(run)
  return run.runId
}
