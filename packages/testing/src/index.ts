export { codeOf, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
export { counterStoreContract } from './counter-contract.ts'
export { createFailingStores, type FailingStores } from './failing-stores.ts'
export { erasureContract } from './erasure-contract.ts'
export { fileStoreContract } from './file-store-contract.ts'
export {
  checkpointStoreContract,
  controlBusContract,
  remoteSessionStoreContract,
  taskStoreContract
} from './other-stores-contract.ts'
export { memoryRetentionContract, memoryStoreContract } from './memory-store-contract.ts'
export { runFenceContract, type FencedStores } from './run-fence-contract.ts'
export { runQueueContract, type QueueStores } from './run-queue-contract.ts'
export { storedWebhook, type WebhookStores } from './stored-webhook.ts'
export { webhookStoreContract } from './webhook-store-contract.ts'
export { scheduleStoreContract, storedSchedule, type ScheduleStores } from './schedule-store-contract.ts'
export { randomLog, type Choose } from './random-log.ts'
export { runStoreContract } from './run-store-contract.ts'
export { runnableContract, type MakeRunnable, type RunnableContractOptions } from './runnable-contract.ts'
export {
  pause,
  scriptedRunnable,
  steppedRunnable,
  type ScriptedAct,
  type ScriptedRunnableOptions
} from './scripted-runnable.ts'
export { scriptedVoice, type Converse } from './scripted-voice.ts'
export { sessionIndexContract, type IndexStores } from './session-index-contract.ts'
export { sessionForkContract } from './session-fork-contract.ts'
export { sessionTreeContract } from './session-tree-contract.ts'
export { keptTurnContract, sessionStoreContract } from './session-store-contract.ts'
export { createTestCluster, type TestNode } from './cluster/test-cluster.ts'
export { twoStoresContract } from './cluster/two-stores-contract.ts'
export type { NodeStores, TwoStores } from './cluster/two-stores.ts'
export { storedRun, textEntry, type RunStores } from './stored-run.ts'
export { talkingRunnable, type TalkingOptions } from './talking-runnable.ts'
