export { decodeTones, encodeTones, ToneDecoder, toneDetector, ToneEncoder } from './tone-codec.ts'
export {
  toneSpeech,
  type ToneCall,
  type ToneCalls,
  type ToneSpeech,
  type ToneSpeechCall,
  type ToneSpeechOptions
} from './tone-speech.ts'
export {
  toneTranscription,
  type ToneTranscription,
  type ToneTranscriptionCall,
  type ToneTranscriptionOptions
} from './tone-transcription.ts'
export { voiceContract, type ContractAnswer, type MakeVoice } from './voice-contract.ts'
export { TestVoiceLink, voiceLink, type VoiceLinkOptions } from './voice-link.ts'
