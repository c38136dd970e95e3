import { Type, type TSchema } from '@sinclair/typebox'
import type { RunnableDefinition } from '@svc/registry'
import t from 'tap'
import type { MessagePart } from '../../src/model/message.ts'
import { createQuestioner } from '../helpers/agents.ts'
import { buildApp } from '../helpers/build-app.ts'
import { connectSdkClients, type SdkClient } from '../helpers/sdk-clients.ts'

const text = (task: object): string => {
  const { artifacts = [] } = task as { artifacts?: { parts: Record<string, unknown>[] }[] }
  const [part] = artifacts[0]?.parts ?? []
  const { text: said, content } = (part ?? {}) as { text?: string; content?: { value: string } }
  return said ?? content?.value ?? ''
}

/** Asks one question after another, the next with the answer before. */
const interview: RunnableDefinition = {
  kind: 'agent',
  name: 'interview',
  async run(_input, context) {
    const name = await context.ask({ message: 'Your name?' })
    const age = await context.ask({ message: `How old, ${String(name.content)}?`, schema: Type.Integer() })
    const sure = await context.ask({ message: `${String(age.content)}: sure?`, schema: Type.Boolean() })
    return JSON.stringify([name.content, age.content, sure.content])
  }
}

t.test('official clients of every version answer question after question in plain text', async (t) => {
  const app = await buildApp(t, { runnables: [interview] })
  for (const client of await connectSdkClients(app.origin)) {
    const begun = await client.send([{ text: 'Hi' }])
    const taskId = begun.id
    const messages: string[] = []
    for (const words of ['Ada', 'forty-two', '42', 'YES']) {
      const found = await app.runs.find(taskId)
      t.equal(found?.status, 'input-required', client.name)
      messages.push(found!.waiting.inputs.first[0]!.message!)
      const task = await client.send([{ text: words }], { taskId })
      t.equal(task.id, taskId)
      if (words === 'YES') t.same(JSON.parse(text(task)), ['Ada', 42, true], client.name)
    }
    t.same(messages, ['Your name?', 'How old, Ada?', 'How old, Ada?', '42: sure?'])
  }
})

const ANSWERS: Record<string, [schema: TSchema | undefined, parts: MessagePart[], content?: unknown]> = {
  'a number': [Type.Number(), [{ text: ' -4.5e1 ' }], -45],
  'a boolean': [Type.Boolean(), [{ text: 'No' }], false],
  'a number of an enumeration': [Type.Union([Type.Literal(1), Type.Literal(2)]), [{ text: '2' }], 2],
  null: [Type.Null(), [{ text: 'null' }], null],
  'a list': [Type.Array(Type.Integer()), [{ text: '[1, 2]' }], [1, 2]],
  'an object as JSON': [
    Type.Object({ a: Type.Integer(), b: Type.String() }),
    [{ text: '{"a":1,"b":"x"}' }],
    { a: 1, b: 'x' }
  ],
  'the only property of an object': [
    Type.Object({ name: Type.String() }),
    [{ text: 'Ada' }],
    { name: 'Ada' }
  ],
  'the only property, as a number': [Type.Object({ size: Type.Integer() }), [{ text: '3' }], { size: 3 }],
  'a text that could be a number': [Type.Union([Type.Integer(), Type.String()]), [{ text: '42' }], '42'],
  anything: [Type.Unknown(), [{ text: '42' }], '42'],
  'several texts': [undefined, [{ text: 'To Ada' }, { text: 'in London' }], 'To Ada\nin London'],
  'a text with metadata': [undefined, [{ text: 'Ada', metadata: { lang: 'en' } }], 'Ada'],
  'a text after a thought': [
    undefined,
    [{ text: 'They want a name.', metadata: { adk_thought: true } }, { text: 'Ada' }],
    'Ada'
  ],
  'no number': [Type.Number(), [{ text: 'a few' }]],
  'a number out of range': [Type.Integer({ minimum: 1 }), [{ text: '0' }]],
  'no boolean': [Type.Boolean(), [{ text: 'perhaps' }]],
  'one of two properties': [
    Type.Object({ a: Type.String(), b: Type.Optional(Type.String()) }),
    [{ text: 'x' }]
  ],
  'a key that reaches the prototype': [Type.Object({}), [{ text: '{"__proto__":{"a":1}}' }]],
  'a thought alone': [undefined, [{ text: 'Ada', metadata: { thought: true } }]],
  'the content of a file': [undefined, [{ text: 'Ada', filename: 'name.txt' }]],
  'another media type': [undefined, [{ text: '<b>Ada</b>', mediaType: 'text/html' }]],
  'a text and data': [undefined, [{ text: 'Ada' }, { data: { name: 'Ada' } }]]
}

t.test('a text is an answer where it fits the question', async (t) => {
  const runnables = Object.values(ANSWERS).map(([schema], index) => createQuestioner(schema, `q${index}`))
  const app = await buildApp(t, { runnables })
  const clients = await connectSdkClients(app.origin)
  const refused: string[] = []
  const send = async (client: SdkClient, parts: MessagePart[], taskId: string) => {
    await client.send(parts, { taskId }).catch(() => refused.push(taskId))
    return (await app.runs.get(taskId))!.inputs[0]!.answer
  }
  for (const [index, [name, [, parts, ...content]]] of Object.entries(ANSWERS).entries()) {
    // Not every earlier version says such things about a text.
    const isBare = parts.every((part) => 'text' in part && Object.keys(part).length === 1)
    const client = clients.at(isBare ? index % 5 : -1)!
    const { id } = await client.send([{ text: 'x' }], { metadata: { agentName: `q${index}` } })
    const answer = await send(client, parts, id)
    if (content.length === 0) t.equal(answer, null, `${name}: ${client.name}`)
    else t.same(answer, { action: 'accept', content: content[0] }, `${name}: ${client.name}`)
  }
  t.equal(refused.length, 1, 'the key that reaches the prototype')
})
