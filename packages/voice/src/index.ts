export type {
  AnswerRequest,
  EngineHost,
  PlayedAnswer,
  OpenVoiceEngine,
  UserTurn,
  VoiceEngine,
  VoiceEngineEvent,
  WrittenTurn
} from './engines/engine.ts'
export {
  fvad,
  type FvadOptions,
  type SpokenTurn,
  type TurnDetector,
  type VoiceDetection,
  type VoiceDetector
} from './detect/fvad.ts'
export { sileroVad, type SileroVadOptions } from './detect/silero.ts'
export { VoiceAgent } from './voice-agent.ts'
export type {
  CallOptions,
  CallTimeouts,
  CascadeOptions,
  CascadeTimeouts,
  InterruptOptions,
  RealtimeOptions,
  RealtimeTimeouts,
  RealtimeTurnOptions,
  SpokenToolOptions,
  TurnOptions,
  VoiceAgentOptions
} from './voice-options.ts'
export type { SpeechModel } from './speech/lift-speech.ts'
export type { TranscriptionModel } from './speech/lift-transcription.ts'
export type { ModelOfCall } from './speech/model-calls.ts'
export * as errors from './errors.ts'
