import { createRunEngine } from '@svc/registry'
import { createPhone } from '../../apps/demo/src/agents/phone.ts'
import { createOfflineModel } from '../../apps/demo/src/models/offline/offline-model.ts'
import { calculate } from '../../apps/demo/src/tools/calculate.ts'
import { chooseVoice, type ChosenVoice } from '../../apps/demo/src/voice/choose-voice.ts'
import { withDigits } from '../../apps/demo/src/voice/offline/phrases.ts'
import { speak, toWav, type Sound } from '../../apps/demo/test/helpers/sounds.ts'
import { Caller } from './caller.ts'
import { SILENCE } from './phone.ts'

/** One question of a caller, in milliseconds. */
export interface SpokenQuestion {
  /** From the end of the voice to the first audio of the answer. */
  readonly latency: number
  /** The silence that ends a turn, and what the two programs take for the same question and answer by themselves. */
  readonly control: number
  readonly isUnderstood: boolean
}

const QUESTIONS = [
  'what is twelve times seven',
  'what is fifty plus two',
  'what is twenty divided by four',
  'good morning',
  'what is nine plus eight',
  'what is eleven minus seven',
  'what is ten times ten',
  'thank you'
]
/** Of full scale; the rest is silence around the words. */
const AUDIBLE = 200

/**
 * Asks the phone of the demo: espeak-ng speaks at the pace of speech, pocketsphinx understands, an agent answers with a tool, and
 * espeak-ng speaks.
 * @returns the command that installs what is missing, if anything is
 */
export async function measureRealSpeech(): Promise<SpokenQuestion[] | { readonly missing: string }> {
  const voice = await chooseVoice({})
  if ('missing' in voice) return voice
  const sounds = await Promise.all(QUESTIONS.map(async (question) => trim(await speak(question))))
  const engine = createRunEngine()
  const phone = createPhone(createOfflineModel({ delay: 0 }), [calculate], voice)
  const caller = new Caller(true, sounds[0]!.rate)
  const greeted = caller.next('response.end')
  await caller.call(engine, phone)
  await greeted
  const questions: SpokenQuestion[] = []
  for (const [at, sound] of sounds.entries()) {
    const latency = await ask(caller, sound)
    const { text: answer } = caller.last('answer.end')
    questions.push({
      latency,
      control: await timeAlone(voice, sound, answer),
      isUnderstood: caller.last('transcript').text === withDigits(QUESTIONS[at]!)
    })
  }
  await caller.hangUp()
  await engine.close()
  return questions
}

async function ask(caller: Caller, { samples, rate }: Sound): Promise<number> {
  const [answered, done] = [caller.next('audio'), caller.next('response.end')]
  const endedAt = await caller.speak(samples, 'live')
  const silence = caller.speak(new Int16Array(rate * 1.2), 'live')
  const latency = (await answered).at - endedAt
  await Promise.all([silence, done])
  return latency
}

async function timeAlone(voice: ChosenVoice, sound: Sound, answer: string): Promise<number> {
  const pause = { samples: new Int16Array((sound.rate * SILENCE) / 1_000), rate: sound.rate }
  const audio = toWav([sound, pause])
  const startedAt = performance.now()
  await voice.listen.doGenerate({ audio, mediaType: 'audio/wav' })
  await voice.speak.doGenerate({ text: answer })
  return SILENCE + performance.now() - startedAt
}

const isAudible = (sample: number) => Math.abs(sample) > AUDIBLE

function trim({ samples, rate }: Sound): Sound {
  return { samples: samples.slice(samples.findIndex(isAudible), samples.findLastIndex(isAudible) + 1), rate }
}
