import { Type } from '@sinclair/typebox'
import { createRunEngine, defineRunnable, type RunInput } from '@svc/registry'
import { PNG, seeing } from '@tools/wires/agents'
import t from 'tap'

const base64 = (text: string, encoding: BufferEncoding = 'latin1') =>
  Buffer.from(text, encoding).toString('base64')
const pdf = base64('%PDF-1.7 \x00')
const jpeg = base64('\xff\xd8\xff\xe0\x00')
const wav = base64('RIFF\x24\x00\x00\x00WAVEfmt ')

t.test('files get the type of their content where their own says nothing', async (t) => {
  const { agent, inputs } = seeing()
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const typeOf = async (data: string, mimeType?: string) => {
    await (
      await engine.start(agent, [{ type: 'file', data, ...(mimeType !== undefined && { mimeType }) }])
    ).result()
    const [part] = inputs.pop() as { type: string; mimeType: string }[]
    return [part!.type, part!.mimeType]
  }
  for (const none of [undefined, '', 'application/octet-stream', 'binary/octet-stream', '*/*', 'image/*']) {
    t.strictSame(await typeOf(PNG, none), ['image', 'image/png'], String(none))
    t.strictSame(await typeOf(pdf, none), ['file', 'application/pdf'], String(none))
  }
  await t.rejects(typeOf(pdf, 'constructor'), { code: 'RUN_ERR_BAD_INPUT' })
  for (const [data, declared, found] of [
    [PNG, 'image/png; charset=binary', 'image/png'],
    [PNG, 'IMAGE/PNG', 'image/png'],
    [jpeg, 'image/jpg', 'image/jpeg'],
    [jpeg, 'image/png', 'image/jpeg'],
    [base64('<svg/>'), 'image/svg+xml', 'image/svg+xml'],
    [wav, 'audio/x-wav', 'audio/wav'],
    [wav, '', 'audio/wav'],
    [pdf, 'application/pdf;charset=UTF-8', 'application/pdf'],
    [base64('ÄÖ, ok', 'utf8'), '', 'text/plain'],
    [base64('a'), 'text/csv; charset=latin1', 'text/csv; charset=latin1'],
    [base64('\x00\x01'), 'application/x-own', 'application/x-own']
  ] as const)
    t.equal((await typeOf(data, declared))[1], found, declared)
})

t.test('a file of no known type is refused by name, before a run begins', async (t) => {
  const { agent } = seeing()
  const own = defineRunnable({
    kind: 'agent',
    name: 'own',
    inputSchema: Type.Array(Type.Unknown()),
    run: async (input) => JSON.stringify(input)
  })
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const start = (input: RunInput, of = agent) => engine.start(of, input)
  const odd = base64('\x00\x01\x02\x03')
  for (const [mimeType, message] of [
    [
      'application/octet-stream',
      /^input\/1\/mimeType: "application\/octet-stream" does not say what the file is/
    ],
    ['', /^input\/1\/mimeType: is not given, and neither does its content/]
  ] as const) {
    const input = [
      { type: 'text', text: 'Look' },
      { type: 'file', mimeType, data: odd }
    ]
    await t.rejects(start(input), { code: 'RUN_ERR_BAD_INPUT', statusCode: 400, message })
  }
  const given = [{ mimeType: '', data: odd }]
  t.equal(
    (await (await start(given, own as typeof agent)).result()).text,
    JSON.stringify(given),
    'no message'
  )
  await t.rejects(start([{ type: 'file', mimeType: 7, data: odd }]), { code: 'RUN_ERR_BAD_INPUT' })
})
