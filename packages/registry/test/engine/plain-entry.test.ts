import {
  anything,
  assert,
  constantFrom,
  dictionary,
  double,
  integer,
  jsonValue,
  oneof,
  option,
  property,
  record,
  string,
  uuid
} from 'fast-check'
import type { Part } from '@svc/registry'
import { cases } from '@tools/wires/volume'
import t from 'tap'
import { encodePart, timeOfEntry, typeOfEntry } from '../../src/engine/log/encode-part.ts'
import { sizeOfEntry } from '@svc/contract/stores'

const text = oneof(
  string({ unit: 'binary' }),
  string({ unit: 'grapheme' }),
  constantFrom('"', '\\', '\n', '\u2028', '\ud800', '\u007f', '</script>', 'plain text', '')
)
const usage = record(
  {
    promptTokens: integer(),
    completionTokens: double(),
    totalTokens: integer(),
    cachedPromptTokens: integer(),
    reasoningTokens: integer()
  },
  { requiredKeys: ['promptTokens', 'completionTokens', 'totalTokens'] }
)
const model = record({ provider: text, modelId: text })
const index = integer({ min: 0, max: 99 })
const time = integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const part = oneof(
  record({ type: constantFrom('text'), text }),
  record({ type: constantFrom('text'), text, source: constantFrom(['member']) }),
  record({ type: constantFrom('text'), text, more: text }),
  record(
    {
      type: constantFrom('start'),
      runId: uuid(),
      sessionId: text,
      kind: constantFrom('agent'),
      name: text,
      input: oneof(text, jsonValue()),
      metadata: dictionary(text, text, { noNullPrototype: true })
    },
    { requiredKeys: ['type', 'runId', 'sessionId', 'kind', 'name'] }
  ),
  record(
    { type: constantFrom('step.start'), index, attempt: index, model },
    { requiredKeys: ['type', 'index', 'attempt'] }
  ),
  record(
    {
      type: constantFrom('step'),
      index,
      usage,
      finishReason: constantFrom('stop', 'tool-calls'),
      durationMs: double(),
      firstTokenMs: double(),
      model
    },
    { requiredKeys: ['type', 'index', 'usage'] }
  ),
  record({ type: constantFrom('tool.call.delta'), toolCallId: text, toolName: text, delta: text }),
  record(
    {
      type: constantFrom('tool.call'),
      toolCallId: text,
      toolName: text,
      args: jsonValue(),
      runsAt: constantFrom('client')
    },
    { requiredKeys: ['type', 'toolCallId', 'toolName', 'args'] }
  ),
  record({
    type: constantFrom('tool.result'),
    toolCallId: text,
    toolName: text,
    result: oneof(jsonValue(), anything()),
    durationMs: double()
  }),
  record({
    type: constantFrom('tool.error'),
    toolCallId: text,
    toolName: text,
    error: record({ code: text, message: text })
  }),
  record({ type: constantFrom('file'), mimeType: text, url: text, size: index, filename: text }),
  record({ type: constantFrom('citation'), url: text, title: text, quote: text }),
  record({ type: constantFrom('data'), name: text, value: jsonValue() }),
  record({ type: constantFrom('structured'), value: option(text) }),
  record({
    type: constantFrom('finish'),
    finishReason: constantFrom('stop'),
    usage,
    durationMs: double(),
    structured: option(text)
  })
)

t.test('an entry keeps its part as it was when yielded', async () => {
  assert(
    property(part, integer({ min: 1 }), time, (given, seq, at) => {
      const json = JSON.stringify({ seq, type: given.type, at, ...(given as object) })
        .replaceAll('\u2028', String.raw`\u2028`)
        .replaceAll('\u2029', String.raw`\u2029`)
      const entry = encodePart(seq, at, given as Part)
      // Later changes by the runnable do not affect the log.
      const before = structuredClone(given)
      Object.assign(given, { text: 'changed', index: -1 })
      if ('usage' in given) given.usage.totalTokens = -1
      if (entry.size !== undefined) Object.assign(entry.part, { text: 'changed by a reader', usage: 'none' })
      const isSized = Math.abs(sizeOfEntry(entry) - json.length) <= Math.max(200, json.length / 2)
      return (
        entry.json === json &&
        JSON.stringify(entry.part) === JSON.stringify(JSON.parse(json)) &&
        typeOfEntry(entry) === before.type &&
        timeOfEntry(entry) === at &&
        isSized
      )
    }),
    { numRuns: cases(2_000) }
  )
})
