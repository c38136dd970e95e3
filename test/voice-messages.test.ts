import { remoteAgent } from '@svc/a2a'
import { createRegistry, type Registry, type Runnable } from '@svc/registry'
import { Agent, Team, Workflow } from '@svc/runtime'
import { decodeTones, toneSpeech } from '@svc/voice/testing'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { makePhone, pay, serveVoice } from './helpers/serve-voice.ts'
import { until, type Served } from './helpers/serve.ts'

/** A voice message as a WAV file. */
async function record(text: string): Promise<Buffer> {
  const { audio } = await toneSpeech().doGenerate({ text, outputFormat: 'wav' })
  return Buffer.from(audio as Uint8Array)
}

/** What a WAV file says. */
function listen(wav: Uint8Array): string {
  const { buffer, byteOffset, byteLength } = Buffer.from(wav)
  const samples = new Int16Array(buffer.slice(byteOffset + 44, byteOffset + byteLength))
  return decodeTones(samples, 24_000)
}

const base64 = async (text: string) => ({
  type: 'audio',
  mimeType: 'audio/wav',
  data: (await record(text)).toString('base64')
})

interface Reply {
  readonly runId: string
  readonly text: string
  /** The audio of the answer. */
  readonly audio: Buffer
}

async function fetchFile(served: Served, runId: string, fileId: string): Promise<Buffer> {
  const response = await fetch(`${served.origin}/runs/${runId}/files/${fileId}`)
  return Buffer.from(await response.arrayBuffer())
}

/** Sends a voice message over each surface. */
const SURFACES: Record<string, (served: Served, question: string) => Promise<Reply>> = {
  async json(served, question) {
    const { body } = await served.ask('POST', '/agents/phone/run', { input: [await base64(question)] })
    return {
      runId: body.runId,
      text: body.text,
      audio: await fetchFile(served, body.runId, body.files[0].fileId)
    }
  },
  async upload(served, question) {
    const form = new FormData()
    form.append('files', new Blob([new Uint8Array(await record(question))], { type: 'audio/wav' }), 'q.wav')
    const response = await fetch(`${served.origin}/agents/phone/run`, { method: 'POST', body: form })
    const body = (await response.json()) as { runId: string; text: string; files: { fileId: string }[] }
    return {
      runId: body.runId,
      text: body.text,
      audio: await fetchFile(served, body.runId, body.files[0]!.fileId)
    }
  },
  async stream(served, question) {
    const { body } = await served.ask('POST', '/agents/phone/stream', { input: [await base64(question)] })
    const parts = String(body)
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map(
        (line) => JSON.parse(line.slice(6)) as { type: string; runId: string; text: string; fileId: string }
      )
    const find = (type: string) => parts.find((part) => part.type === type)!
    const { runId } = find('start')
    return {
      runId,
      text: find('voice.turn').text,
      audio: await fetchFile(served, runId, find('voice.audio').fileId)
    }
  },
  async socket(served, question) {
    const { socket, ask } = await served.connect()
    const done = new Promise<{ output: { text: string; files: { fileId: string }[] } }>((resolve) =>
      socket.once('agent.done', resolve)
    )
    const { runId } = await ask('agent.run', { name: 'phone', input: [await base64(question)] })
    const { text, files } = (await done).output
    const { data } = await ask('run.file', { runId, fileId: files[0]!.fileId })
    return { runId, text, audio: data }
  },
  async a2a(served, question) {
    const { data } = await base64(question)
    const task = await served.rpc('/a2a', 'message/send', {
      message: {
        role: 'user',
        messageId: 'm',
        parts: [{ kind: 'file', file: { bytes: data, mimeType: 'audio/wav' } }],
        metadata: { agentName: 'phone' }
      }
    })
    const [answer, file] = task.artifacts
    const response = await fetch(file.parts[0].file.uri)
    return {
      runId: task.id,
      text: answer.parts[0].text,
      audio: Buffer.from(await response.arrayBuffer())
    }
  }
}

for (const [surface, send] of Object.entries(SURFACES))
  t.test(`a voice message over ${surface} is answered by an audio file`, async (t) => {
    const served = await serveVoice(t, {
      script: ({ prompt }) =>
        `You said: ${JSON.stringify(prompt.at(-1)?.content).match(/"text":"(.*?)"/)?.[1]}`
    })
    const { runId, text, audio } = await send(served, 'Is it noon?')
    t.equal(text, 'You said: Is it noon?')
    t.equal(listen(audio), text)
    const { body } = await served.ask('GET', `/runs/${runId}`)
    t.match(body, { status: 'completed', result: { text } })
    const log = await Array.fromAsync(served.app.runs.parts(runId))
    t.notMatch(JSON.stringify(log), /UklGR/, 'no audio is in the log')
  })

t.test('a voice message may last minutes', async (t) => {
  const served = await serveVoice(t)
  const silence = Buffer.alloc(48_000 * 120)
  const long = Buffer.concat([await record('Is it noon?'), silence])
  // The size in the header is that of the tones alone: the largest is one of a stream, until the end of the file.
  long.writeUInt32LE(0xffffffff, 40)
  const form = new FormData()
  form.append('files', new Blob([new Uint8Array(long)], { type: 'audio/wav' }), 'q.wav')
  const response = await fetch(`${served.origin}/agents/phone/run`, { method: 'POST', body: form })
  t.match(await response.json(), { text: 'Noon.' })
})

t.test('a message that cannot be answered is refused, each with its code', async (t) => {
  const served = await serveVoice(t)
  const part = { type: 'audio', mimeType: 'audio/wav' }
  const cases: [name: string, content: object, status: number, code: string][] = [
    ['an image', { type: 'image', mimeType: 'image/png', data: 'aGk=' }, 400, 'VOICE_ERR_BAD_MESSAGE'],
    ['no WAV file', { ...part, data: 'aGk=' }, 422, 'VOICE_ERR_BAD_AUDIO'],
    ['silence', await base64(''), 409, 'VOICE_ERR_NOTHING_TO_ANSWER'],
    ['a private URL', { ...part, url: 'http://127.0.0.1/a.wav' }, 400, 'RUN_ERR_URL_REFUSED'],
    ['too much', { ...part, data: 'A'.repeat(2_000_000) }, 413, 'HTTP_ERR_BODY_TOO_LARGE']
  ]
  for (const [name, content, status, code] of cases) {
    const { body } = await served.ask('POST', '/agents/phone/run', { input: [content] })
    t.match(body, { statusCode: status, code }, name)
  }
})

t.test('a message may be text, or several parts; its bytes may be kept as files', async (t) => {
  const said: string[] = []
  const served = await serveVoice(t, {
    options: { record: { files: true } },
    phone: { greeting: 'Hello!' },
    script({ prompt }) {
      said.push(JSON.stringify(prompt))
      return 'Noon.'
    }
  })
  const ask = (input: unknown) => served.ask('POST', '/agents/phone/run', { input })
  t.match((await ask('Time?')).body, { text: 'Noon.', files: [{ purpose: 'speech' }] })
  const { body } = await ask([await base64('Time?'), { type: 'text', text: 'In Rome.' }])
  t.match(body, { text: 'Noon.', files: [{ purpose: 'speech' }] })
  t.match(said[1], 'Time?\\nIn Rome.')
  t.notMatch(said[1], 'Hello!', 'no one was greeted')
  const [start] = await Array.fromAsync(served.app.runs.parts(body.runId))
  const { fileId } = (start as { input: { fileId: string }[] }).input[0]!
  t.equal(listen(await fetchFile(served, body.runId, fileId)), 'Time?')
})

t.test('the tools of a voice message are approved and served over HTTP', async (t) => {
  const calls = ['pay', 'locate'].map((toolName) => ({ toolCalls: [{ toolName, toolCallId: toolName }] }))
  const served = await serveVoice(t, {
    script: [...calls, 'It is paid, in Rome.'],
    desk: { tools: [pay] },
    http: { clientTools: true }
  })
  const locate = { name: 'locate', description: 'Where the user is', input: { type: 'object' } }
  const asked = { input: [await base64('Pay here')], tools: [locate] }
  const { body } = await served.ask('POST', '/agents/phone/run', asked, { prefer: 'respond-async' })
  const read = async () => (await served.ask('GET', `/runs/${body.runId}`)).body
  const { pendingApprovals } = await until(read, ({ pendingApprovalCount }) => pendingApprovalCount === 1)
  await served.ask('POST', `/approvals/${pendingApprovals[0].approvalId}`, { approved: true })
  const { pendingInputs } = await until(read, ({ pendingInputCount }) => pendingInputCount === 1)
  t.match(pendingInputs, [{ kind: 'tool', toolName: 'locate' }])
  await served.ask('POST', `/inputs/${pendingInputs[0].inputId}`, { action: 'accept', content: 'Rome' })
  const { result } = await until(read, ({ status }) => status === 'completed')
  t.match(result, { text: 'It is paid, in Rome.', toolCalls: [{ result: 'paid' }, { result: 'Rome' }] })
})

/** Who answers the phone, other than an agent. */
const ANSWERS: Record<string, (registry: Registry, origin: string) => Runnable> = {
  team: (registry) =>
    new Team({
      name: 'crew',
      registry,
      mode: 'route',
      model: scriptedModel({ toolCalls: [{ toolName: 'route', args: { member: 'clock' } }] }),
      members: [new Agent({ name: 'clock', registry, model: scriptedModel('The crew says noon.') })]
    }),
  sequence: (registry) =>
    new Team({
      name: 'line',
      registry,
      mode: 'sequence',
      members: ['a', 'b'].map(
        (name) => new Agent({ name, registry, model: scriptedModel(`From ${name}: noon.`) })
      )
    }),
  workflow: (registry) =>
    new Workflow({
      name: 'flow',
      registry,
      steps: (flow) => flow.step('say', ({ previous }) => `The flow was asked: ${previous as string}`)
    }),
  remote: (_registry, origin) => remoteAgent({ name: 'far', url: `${origin}/a2a`, agentName: 'desk' })
}
const SPOKEN: Record<string, string> = {
  team: 'The crew says noon.',
  sequence: 'From b: noon.',
  workflow: 'The flow was asked: Time?',
  remote: 'The desk says noon.'
}

for (const [kind, make] of Object.entries(ANSWERS))
  t.test(`the phone is answered by a ${kind}`, async (t) => {
    const far = await serveVoice(t, { script: 'The desk says noon.' })
    const served = await serveVoice(t, {
      add: (registry) =>
        void makePhone(registry, {
          name: 'other',
          greeting: 'Hello!',
          answer: make(createRegistry(), far.origin)
        })
    })
    const { body } = await served.ask('POST', '/agents/other/run', { input: [await base64('Time?')] })
    t.match(body, { text: SPOKEN[kind], finishReason: 'stop' })
    t.equal(listen(await fetchFile(served, body.runId, body.files[0].fileId)), SPOKEN[kind])
  })
