import { Type } from '@sinclair/typebox'
import { defined } from '@svc/contract'
import type { ListRequest } from '../model/requests.ts'
import type { TaskState } from '../model/task.ts'
import { badParams, decodeParams } from './decode-params.ts'
import { optional } from './fields.ts'
import { fromProtoJson } from './proto-json.ts'
import { decodeState } from './states.ts'

const toList = decodeParams(
  Type.Object({
    tenant: optional.text,
    contextId: optional.text,
    status: Type.Optional(Type.String()),
    pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    pageToken: optional.text,
    historyLength: optional.historyLength,
    statusTimestampAfter: Type.Optional(
      Type.String({
        pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?(Z|[+-]\\d\\d:\\d\\d)$'
      })
    ),
    includeArtifacts: optional.flag
  })
)

/** The parameters of a list of tasks, the same in all versions: before 1.0 the operation has no schema of its own. */
export function decodeList(params: unknown): ListRequest {
  const { contextId, status, pageSize, pageToken, historyLength, ...rest } = toList(fromProtoJson(params))
  return {
    pageSize: pageSize ?? 50,
    includeArtifacts: rest.includeArtifacts ?? false,
    ...defined({
      historyLength,
      contextId: contextId || undefined,
      pageToken: pageToken || undefined,
      state: decodeFilter(status),
      changedSince: requireTime(rest.statusTimestampAfter)
    })
  }
}

// The pattern admits dates that do not exist, and `Date` takes the 30th of February for the 2nd of March. Statuses have
// milliseconds: a finer time is after the millisecond it begins with.
function requireTime(time: string | undefined): string | undefined {
  if (time === undefined) return undefined
  const [, year, month, day, finer = ''] = /^(\d{4})-(\d\d)-(\d\d)T[\d:]+(?:\.\d{1,3}(\d*))?/.exec(time)!
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  const at = Date.parse(time)
  if (Number.isNaN(at) || Number(day) > daysOfMonth)
    throw badParams('statusTimestampAfter', 'Expected a time that exists')
  return Number(finer) === 0 ? time : new Date(at + 1).toISOString()
}

// An unspecified value of a proto filters nothing.
function decodeFilter(name: string | undefined): TaskState | undefined {
  if (name === undefined || name === '') return undefined
  const state = decodeState(name)
  if (state === undefined) throw badParams('status', 'Expected the name of a TaskState')
  return state === 'unknown' ? undefined : state
}
