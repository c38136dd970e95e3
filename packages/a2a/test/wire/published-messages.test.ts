import t from 'tap'
import { faultsOf } from '../helpers/published/faults-of.ts'
import { lostByProto, officialCodec } from '../helpers/published/official-codec.ts'
import { ENUMS, fieldsOf, MESSAGES, type Field } from '../helpers/published/proto-messages.ts'

// The schema of 1.0 that answers are checked against is made from a table of this repository; this compares it with the published one.

type MessageName = keyof typeof MESSAGES
const NAMES = Object.keys(MESSAGES) as MessageName[]

/** Values of the types of protobuf, none of which means unset. */
const VALUES: Readonly<Record<string, unknown>> = {
  string: 'x',
  bool: true,
  int32: 7,
  bytes: 'AAEC',
  Struct: { a: [1, { b: null }] },
  Value: [1, 'two'],
  Timestamp: '2026-01-02T03:04:05.678Z'
}

function sampleOf({ type, isRepeated, isMap }: Field): unknown {
  const one = VALUES[type] ?? ENUMS[type as keyof typeof ENUMS]?.at(-1) ?? samplesOf(type as MessageName)[0]
  if (isRepeated) return [one]
  return isMap ? { key: one } : one
}

/** A message with all its fields, once for each choice of a `oneof`. */
function samplesOf(name: MessageName): Record<string, unknown>[] {
  const fields = fieldsOf(name)
  const always = fields.filter(([, { isOneOf }]) => !isOneOf)
  const choices = fields.filter(([, { isOneOf }]) => isOneOf)
  const having = (some: typeof fields) =>
    Object.fromEntries(some.map(([key, field]) => [key, sampleOf(field)]))
  return choices.length === 0
    ? [having(always)]
    : choices.map((choice) => ({ ...having(always), ...having([choice]) }))
}

t.test('each message has the fields that the official code of the proto knows', async (t) => {
  for (const name of NAMES) {
    const codec = officialCodec(name)!
    for (const sample of samplesOf(name)) {
      t.same(faultsOf('1.0', name, sample), [], `${name} fits`)
      t.same(lostByProto(name, sample), [], `${name} is read and written whole`)
    }
    // The code has an extra field for a oneof, whose members are all checked above.
    const fields = fieldsOf(name)
    const plain = fields.filter(([, { isOneOf }]) => !isOneOf).map(([key]) => key)
    const known = Object.keys(codec.fromJSON({}))
    const more = known.filter((key) => !plain.includes(key))
    t.equal(more.length, plain.length === fields.length ? 0 : 1, `${name} has no more than ${known.join()}`)
  }
})

t.test('the table has every message and enum of the official code', async (t) => {
  const sdk: Record<string, unknown> = await import('@a2a-js/sdk')
  const isMessage = (value: unknown) =>
    typeof value === 'object' && value !== null && 'fromJSON' in value && 'toJSON' in value
  const messages = Object.keys(sdk).filter((name) => isMessage(sdk[name]) && !name.endsWith('Entry'))
  t.same(messages.sort(), [...NAMES].sort())
  for (const [name, values] of Object.entries(ENUMS)) {
    const names = Object.keys(sdk[name] as object).filter((key) => Number.isNaN(Number(key)))
    t.same(names.filter((key) => !/UNSPECIFIED|UNRECOGNIZED/.test(key)).sort(), [...values].sort())
  }
})

t.test('unknown fields of a message are found', async (t) => {
  for (const name of NAMES) {
    const [sample] = samplesOf(name)
    t.not(faultsOf('1.0', name, { ...sample, more: 1 }).length, 0, `${name} has no more`)
    for (const [key, field] of fieldsOf(name)) {
      const { [key]: _, ...without } = samplesOf(name).find((each) => key in each)!
      const isNeeded = field.isRequired || field.isOneOf
      t.equal(faultsOf('1.0', name, without).length > 0, isNeeded, `${name}.${key}`)
      if (field.type !== 'Value')
        t.not(faultsOf('1.0', name, { ...without, [key]: -1.5 }).length, 0, `${name}.${key} has its type`)
    }
  }
})
