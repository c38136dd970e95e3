import { isFull } from '@tools/wires/volume'
import t from 'tap'
import { buildApp } from '../../src/app.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'
import { chooseVoice } from '../../src/voice/choose-voice.ts'
import { withDigits } from '../../src/voice/offline/phrases.ts'
import { PhoneClient } from '../helpers/phone-client.ts'
import { speak } from '../helpers/sounds.ts'
import { skip } from '../helpers/speech-programs.ts'
import { CALLS } from '../helpers/spoken-questions.ts'
import { toSpokenWords } from '../helpers/spoken-words.ts'
import { understandAnswers } from '../helpers/understand-answers.ts'

t.setTimeout(120_000)

/** Six questions each. */
const ASKED = isFull ? CALLS : CALLS.slice(2)

t.test('spoken questions are understood, and their spoken answers too', { skip }, async (t) => {
  const voice = await chooseVoice({})
  const app = await buildApp(
    readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' }),
    createOfflineModel({ delay: 0 }),
    { voice }
  )
  t.teardown(() => app.close())
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `${origin.replace('http', 'ws')}/v1/realtime?model=phone`

  const exchanges = await Promise.all(
    ASKED.map(async (turns) => {
      const said = await Promise.all(turns.map(([text]) => speak(text)))
      const client = await PhoneClient.call(url, said[0]!.rate)
      await client.answer()
      const heard = []
      for (const { samples } of said) heard.push(await client.say(samples))
      client.hangUp()
      return heard
    })
  )

  const all = exchanges.flat()
  t.same(
    all.map(({ understood }) => understood),
    ASKED.flat().map(([text]) => withDigits(text))
  )
  const expected = ASKED.flat().map(([, answer]) => answer)
  t.same(
    all.map(({ answer }) => answer),
    expected
  )
  const sounds = all.map(({ sound }) => sound)
  t.same(await understandAnswers(sounds, expected), expected.map(toSpokenWords))
})
