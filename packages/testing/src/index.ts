export { codeOf, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
export {
  checkpointStoreContract,
  controlBusContract,
  counterStoreContract,
  remoteSessionStoreContract,
  taskStoreContract
} from './other-stores-contract.ts'
export {
  createFailingStores,
  interceptStores,
  storedRun,
  textEntry,
  type FailingStores,
  type RunStores
} from './stored-run.ts'
export { erasureContract } from './erasure-contract.ts'
export { fileStoreContract } from './file-store-contract.ts'
export { memoryRetentionContract, memoryStoreContract } from './memory-store-contract.ts'
export { runFenceContract, type FencedStores } from './run-fence-contract.ts'
export { runQueueContract, type QueueStores } from './run-queue-contract.ts'
export { storedWebhook, webhookStoreContract, type WebhookStores } from './webhook-store-contract.ts'
export { scheduleStoreContract, storedSchedule, type ScheduleStores } from './schedule-store-contract.ts'
export { overflowError, OVERFLOW_PROVIDERS, type OverflowProvider } from './overflow-errors.ts'
export {
  prefixCacheModel,
  type PrefixCacheAnswer,
  type PrefixCacheCall,
  type PrefixCacheModel,
  type PrefixCacheOptions
} from './prefix-cache-model.ts'
export { randomLog, type Choose } from './random-log.ts'
export { runStoreContract } from './run-store-contract.ts'
export { runnableContract, type MakeRunnable, type RunnableContractOptions } from './runnable-contract.ts'
export {
  pause,
  scriptedRunnable,
  scriptedVoice,
  steppedRunnable,
  talkingRunnable,
  type Converse,
  type ScriptedAct,
  type ScriptedRunnableOptions,
  type TalkingOptions
} from './scripted-runnable.ts'
export { sessionIndexContract, type IndexStores } from './session-index-contract.ts'
export { sessionForkContract, sessionTreeContract } from './session-tree-contract.ts'
export { keptTurnContract, sessionStoreContract } from './session-store-contract.ts'
export { createTestCluster, type TestNode } from './cluster/test-cluster.ts'
export { twoStoresContract } from './cluster/two-stores-contract.ts'
export type { NodeStores, TwoStores } from './cluster/left-run-contract.ts'
