export { sandboxContract, type MakeSandbox } from './sandbox-contract.ts'
export { scriptedModel } from './scripted-model.ts'
export type {
  Script,
  ScriptedCall,
  ScriptedModel,
  ScriptedModelOptions,
  ScriptedTurn
} from './scripted-model.ts'
