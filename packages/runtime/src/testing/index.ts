export { sandboxContract, type MakeSandbox } from './sandbox-contract.ts'
export {
  scriptedModel,
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedTurn
} from './scripted-model.ts'
