import { join } from 'node:path'
import t from 'tap'
import { connectTo, serve } from './helpers/serve.ts'
import { serveVoice, sessionOf, SocketCall } from './helpers/serve-voice.ts'
import { start, untilSaid } from './helpers/shell.ts'
import { addEchoPhone } from './helpers/voice-program.ts'

const PROGRAM = join(import.meta.dirname, 'helpers/voice-program.ts')
const ROOT = join(import.meta.dirname, '..')

t.test('a chat continues the session of a call, and a call that of a chat', async (t) => {
  const prompts: string[] = []
  const served = await serveVoice(t, {
    script({ prompt }) {
      prompts.push(JSON.stringify(prompt.map(({ content }) => content)))
      return `Answer ${prompts.length}.`
    }
  })
  const chat = (input: string) => served.ask('POST', '/agents/desk/run', { input, sessionId: 's' })
  await chat('First, in writing')
  const call = await SocketCall.start(await served.connect(), { sessionId: 's' })
  await call.say('Second, on the phone')
  t.match(prompts.at(-1), 'First, in writing')
  t.match(prompts.at(-1), 'Answer 1.')
  await chat('Third, in writing, during the call')
  t.match(prompts.at(-1), 'Second, on the phone')
  await call.say('Fourth, on the phone')
  t.match(prompts.at(-1), 'Third, in writing')
  await call.hangUp()
  await chat('Fifth')
  t.match(prompts.at(-1), 'Answer 4.')
  t.same(
    (await sessionOf(served, 's')).map(({ role }) => role),
    Array.from({ length: 5 }, () => ['user', 'assistant']).flat()
  )
})

t.test('a chat during an answer waits until it is played', async (t) => {
  const served = await serveVoice(t, { script: ['It is noon in Rome.', 'Written.'] })
  const call = await SocketCall.start(await served.connect(), { sessionId: 's' })
  call.playsFor = 100
  await call.send('voice.text', { text: 'Time?', respond: true })
  await call.next('voice.answer.end')
  const chat = served.ask('POST', '/agents/desk/run', { input: 'And here?', sessionId: 's' })
  await call.send('voice.cancel')
  t.match((await chat).body, { text: 'Written.' })
  t.match(await sessionOf(served, 's'), [
    { content: 'Time?' },
    { interrupted: true },
    { content: 'And here?' },
    { text: 'Written.' }
  ])
  await call.hangUp()
})

t.test('a kill -9 in a call loses the turn under way, and nothing before it', async (t) => {
  const url = `sqlite:${join(t.testdir(), 'app.db')}`
  const node = [process.execPath, '--conditions=@svc/source', '--disable-warning=ExperimentalWarning']
  const first = start(t, [...node, PROGRAM, url], { cwd: ROOT })
  const output = await untilSaid(first, 'Server listening at ')
  const [, origin = ''] = /Server listening at (\S+?)"/.exec(output) ?? []
  const call = await SocketCall.start(await connectTo(t, origin), { sessionId: 's' })
  await call.say('One')
  await call.say('Two')
  call.playsFor = 0
  await call.send('voice.text', { text: 'Three', respond: true })
  await call.next('voice.answer.end')
  first.child.kill('SIGKILL')
  await first.ended

  const second = await serve(t, (app) => addEchoPhone(app, url))
  const next = await SocketCall.start(await second.connect(), { sessionId: 's' })
  await next.send('voice.text', { text: 'Four', respond: true })
  const { text } = await next.next('voice.answer.end')
  t.match(text, /^u:One a:u:One u:Two a:.* u:Four$/)
  t.notMatch(text, 'Three')
  await next.hangUp()
})
