import { withStore, type ContractTest, type MakeStore } from '../contract-test.ts'
import { leftRunContract } from './left-run-contract.ts'
import { sharedRunContract } from './shared-run-contract.ts'
import { sharedSessionContract } from './shared-session-contract.ts'
import { sharedTaskContract } from './shared-task-contract.ts'
import type { TestTwoStores, TwoStores } from './two-stores.ts'

/**
 * The contract of `Stores` that several processes share: each sees at once what another has written, no run is lost with its process,
 * and a process that was declared dead writes nothing. Each port on its own has a contract too.
 */
export function twoStoresContract(t: ContractTest, make: MakeStore<TwoStores>): void {
  const test: TestTwoStores = (name, run) => withStore(t, make, name, run)
  sharedRunContract(test)
  leftRunContract(test)
  sharedSessionContract(test)
  sharedTaskContract(test)
}
