/** The media type of RFC 9457. */
export const PROBLEM = 'application/problem+json'

/** Whether an `Accept` names that type, and does not refuse it. RFC 9110, section 12.5.1. */
export function acceptsProblem(accept: string | undefined): boolean {
  if (accept === undefined) return false
  return accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((each) => each.trim().toLowerCase())
    return type === PROBLEM && !parameters.some((each) => /^q=0(?:\.0{0,3})?$/.test(each))
  })
}
