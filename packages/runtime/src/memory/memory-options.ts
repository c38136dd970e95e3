import { Type } from '@sinclair/typebox'
import { requireOptions } from '@svc/contract'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { prefixedError } from '../checks/option-errors.ts'

const atLeast = (minimum: number) => Type.Optional(Type.Integer({ minimum }))
const strict = { additionalProperties: false }

const SCHEMAS = {
  recallMemory: Type.Object(
    {
      extract: Type.Optional(Type.Function([], Type.Unknown())),
      limit: atLeast(1),
      maxCharacters: atLeast(1),
      // Checked by hand: a schema does not see inherited methods.
      embedding: Type.Optional(Type.Any()),
      maxCompared: atLeast(1),
      minSimilarity: Type.Optional(Type.Number({ minimum: -1, maximum: 1 }))
    },
    strict
  ),
  windowMemory: Type.Object({ turns: atLeast(1), maxCharacters: atLeast(1) }, strict),
  summaryMemory: Type.Object(
    { model: Type.Any(), keep: atLeast(0), every: atLeast(1), maxCharacters: atLeast(1) },
    strict
  )
}

/** Checks the options of a memory. @throws RUN_ERR_BAD_AGENT, naming the memory and the option */
export function requireMemoryOptions(memory: keyof typeof SCHEMAS, options: unknown): void {
  requireOptions(SCHEMAS[memory], options, prefixedError(memory, RUN_ERR_BAD_AGENT))
}
