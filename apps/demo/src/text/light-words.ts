import { stemsOf } from './terms.ts'

const LIGHT: ReadonlySet<string> = new Set(
  stemsOf(
    'send pass put set add write read call change need take show see give keep hold say find disable enable default'
  )
)

/** Whether a stem is of what is done to a thing, or asked of it: it says less than the thing. */
export function isLight(stem: string): boolean {
  return LIGHT.has(stem)
}
