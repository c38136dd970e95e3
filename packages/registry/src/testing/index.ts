export {
  pause,
  scriptedRunnable,
  type ScriptedAct,
  type ScriptedRunnableOptions
} from './scripted-runnable.ts'
