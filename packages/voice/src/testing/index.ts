export { decodeTones, encodeTones, ToneDecoder, ToneEncoder } from './tone-codec.ts'
export { toneDetector } from './tone-detector.ts'
export type { ToneCall, ToneCalls } from './tone-call.ts'
export { toneSpeech, type ToneSpeech, type ToneSpeechCall, type ToneSpeechOptions } from './tone-speech.ts'
export {
  toneTranscription,
  type ToneTranscription,
  type ToneTranscriptionCall,
  type ToneTranscriptionOptions
} from './tone-transcription.ts'
export { voiceContract, type ContractAnswer, type MakeVoice } from './voice-contract.ts'
export { TestVoiceLink, voiceLink, type VoiceLinkOptions } from './voice-link.ts'
