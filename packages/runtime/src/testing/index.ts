export { sandboxContract, type MakeSandbox } from './sandbox-contract.ts'
export type { Script, ScriptedCall, ScriptedTurn } from './script.ts'
export { scriptedModel, type ScriptedModel, type ScriptedModelOptions } from './scripted-model.ts'
