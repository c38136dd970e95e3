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
export type { SpokenTurn, TurnDetector, VoiceDetection, VoiceDetector } from './detect/detector.ts'
export { fvad, type FvadOptions } from './detect/fvad.ts'
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
export type { ModelOfCall } from './speech/voice-model.ts'
export * from './errors.ts'
