import { A2A_ERR_BAD_OPTION } from './errors.ts'

/** Makes sure that what an option gives can be on a card. @throws A2A_ERR_BAD_OPTION */
export function requireJson(option: string, given: unknown): void {
  try {
    JSON.stringify(given)
  } catch {
    throw new A2A_ERR_BAD_OPTION(`${option}: must be JSON`)
  }
}
