import type { Runnable } from '../../contract/runnable.ts'
import { RUN_ERR_NOT_QUEUEABLE } from '../../errors.ts'
import type { RecordOptions } from '../../options.ts'
import type { RecordedInput } from '../recorded-input.ts'
import type { StartOptions } from '../start-options.ts'

/**
 * Checks that another process can begin a run from what is stored of it.
 * @throws RUN_ERR_NOT_QUEUEABLE
 */
export function requireQueueable(
  { name, resumable }: Runnable,
  { apiKey, redact }: StartOptions,
  recorded: RecordedInput | undefined,
  record: Readonly<Required<RecordOptions>>
): asserts recorded is RecordedInput {
  if (resumable !== true) throw new RUN_ERR_NOT_QUEUEABLE(`another process could not resume "${name}"`)
  if (apiKey !== undefined || redact !== undefined)
    throw new RUN_ERR_NOT_QUEUEABLE('its caller has given a key, and keys are not stored')
  if (recorded === undefined) throw new RUN_ERR_NOT_QUEUEABLE('inputs are not recorded here')
  if (recorded.contents.length > 0 && !record.files)
    throw new RUN_ERR_NOT_QUEUEABLE('files of inputs are not kept here')
}
