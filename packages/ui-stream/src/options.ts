import { Type } from '@sinclair/typebox'
import { optionsSchema } from '@svc/contract'
import { resolveWireOptions, WIRE_OPTIONS, type WireOptions } from '@svc/surface'
import type { RegisterOptions } from 'fastify'
import { errors } from './surface-errors.ts'

/** Options of the plugin. */
export interface UiStreamOptions extends WireOptions {
  /** True if messages that join a run are `steering-message` parts, which need `ai` 7.0.173 in the page; default false: `data-steer`. */
  steeringMessages?: boolean
}

export const UiStreamOptionsSchema = optionsSchema<UiStreamOptions>({
  ...WIRE_OPTIONS,
  steeringMessages: Type.Boolean()
})

/** Validates the options of the plugin and fills in its defaults. @throws UI_ERR_BAD_OPTION */
export function resolveOptions(given: UiStreamOptions & RegisterOptions) {
  const settings = resolveWireOptions(given, errors.BadOption, UiStreamOptionsSchema)
  const { steeringMessages = false } = given
  return { ...settings, steeringMessages }
}
