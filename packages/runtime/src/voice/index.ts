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
