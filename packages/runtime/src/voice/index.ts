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
