import { setTimeout as pause } from 'node:timers/promises'
import { findChromium } from '@svc/browser'
import { isFull } from '@tools/wires/volume'
import t from 'tap'
import { PHONE } from '../../src/address.ts'
import { buildApp } from '../../src/app.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'
import { chooseVoice, type ChosenVoice } from '../../src/voice/choose-voice.ts'
import { withDigits } from '../../src/voice/offline/phrases.ts'
import { serveRecorder } from '../helpers/page-recorder.ts'
import { PhonePage, type Shown } from '../helpers/phone-page.ts'
import { speak } from '../helpers/sounds.ts'
import { skip } from '../helpers/speech-programs.ts'
import { CALLS } from '../helpers/spoken-questions.ts'
import { toSpokenWords } from '../helpers/spoken-words.ts'
import { understandAnswers } from '../helpers/understand-answers.ts'

/** The first has so long an answer that the second interrupts it. */
const LONG = 'how do i resume a stream'
const SHORT = 'what is fifty plus two'
const ANSWERS = CALLS.flat().map(([, answer]) => answer)
/** Each call is a browser and a recognizer that work in real time. */
const ASKED = isFull ? CALLS : [CALLS[0]!.slice(0, 2)]

t.setTimeout(isFull ? 400_000 : 200_000)

const executablePath = await findChromium().catch(() => undefined)
const noChromium = executablePath === undefined && 'There is no Chromium'

type Test = { teardown(what: () => unknown): unknown; testdir(): string; testdirName: string }

async function startDemo(t: Test, change: (voice: ChosenVoice) => ChosenVoice = (voice) => voice) {
  const env = readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' })
  const voice = change((await chooseVoice({})) as ChosenVoice)
  const app = await buildApp(env, createOfflineModel({ delay: 0 }), { voice })
  t.teardown(() => app.close())
  serveRecorder(app)
  return app.listen({ port: 0, host: '127.0.0.1' })
}

async function openPage(t: Test, origin: string, folder = t.testdir()): Promise<PhonePage> {
  const page = await PhonePage.open(`${origin}/${PHONE}`, executablePath!, folder)
  t.teardown(() => page.close())
  return page
}

/** The words of each turn come later than an interrupted answer waits for them. */
function slowly({ listen, ...voice }: ChosenVoice): ChosenVoice {
  const response = { timestamp: new Date(), modelId: listen.modelId }
  const transcript = { segments: [], language: 'en', durationInSeconds: 2, warnings: [], response }
  const doGenerate = () => pause(3_000, { text: withDigits(SHORT), ...transcript })
  return { ...voice, listen: { ...listen, doGenerate } }
}

/** Asks one question after the other, until one has no answer. */
async function hold(page: PhonePage, questions: readonly string[]): Promise<Shown> {
  const sounds = await Promise.all(questions.map(speak))
  try {
    for (const [index, sound] of sounds.entries()) {
      await page.say(sound)
      await page.untilSpoken(index + 1)
    }
  } catch {
    // What the page shows then says more than a time-out.
  }
  return page.read()
}

t.test('calls from the console', { skip: skip || noChromium, jobs: 2 }, async (t) => {
  const origin = await startDemo(t)
  const calls = ASKED.map((turns, index) =>
    t.test(`questions are understood, and what is played is too: ${index + 1}`, async (t) => {
      const page = await openPage(t, origin)
      const said = turns.map(([question]) => question)
      const expected = turns.map(([, answer]) => answer)

      await page.call()
      await page.untilSpoken(0)
      const { understood, answers, played, states, hasNotice } = await hold(page, said)

      t.same(understood, said.map(withDigits))
      t.same(
        answers.map(({ text }) => text),
        expected
      )
      t.notOk(answers.find(({ wasCut }) => wasCut))
      t.same(await understandAnswers(played.slice(1), ANSWERS), expected.map(toSpokenWords))
      t.match(states.join(), 'listening,thinking,speaking,listening')
      t.equal(hasNotice, false)
    })
  )
  const interruption = t.test(
    'a question interrupts the greeting, and another one a long answer',
    async (t) => {
      const page = await openPage(t, origin)
      const [long, short] = await Promise.all([speak(LONG), speak(SHORT)])
      await page.call()
      await page.say(long)
      await page.untilSpeaking(1)
      await page.say(short)
      await page.untilSpoken(2)

      const { understood, answers } = await page.read()
      t.same(understood, [LONG, withDigits(SHORT)])
      t.match(answers, [
        { text: /^Request/, wasCut: true },
        { text: '50 plus 2 is 52.', wasCut: false }
      ])
    }
  )
  await Promise.all([...calls, interruption])
})

// After the others: its phone replaces theirs.
t.test(
  'an answer that resumes until the words of a turn come is not taken for its answer',
  { skip: skip || noChromium },
  async (t) => {
    const page = await openPage(t, await startDemo(t, slowly), t.testdirName)
    await page.call()
    const { answers, states } = await hold(page, [SHORT])
    t.match(answers, [{ text: '50 plus 2 is 52.', wasCut: false }])
    t.match(states.join(), /thinking,speaking,thinking,speaking,listening$/)
  }
)
