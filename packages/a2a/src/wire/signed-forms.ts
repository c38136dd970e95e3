import type { Fields } from './read-answer.ts'
import { toSignedFields } from './v1.0/signed-fields.ts'

/**
 * The forms of a card that a signature may cover, each without `signatures`: the card as it is; its fields of 1.0, as the specification
 * says; these without any empty value, as the official SDKs have it; and the latter without security schemes, which that for
 * JavaScript loses (1.3.0).
 */
export function signedForms({ signatures: _, ...whole }: Fields): Fields[] {
  return 'supportedInterfaces' in whole ? [whole, ...formsOfV10(whole)] : [whole]
}

/** The forms that a service signs: of a card of 1.0 its fields of 1.0, else the card as it is too, for clients of earlier versions. */
export function formsToSign({ signatures: _, ...whole }: Fields): Fields[] {
  if (!('supportedInterfaces' in whole)) return [whole]
  return 'protocolVersion' in whole ? [...formsOfV10(whole), whole] : formsOfV10(whole)
}

function formsOfV10(card: Fields): Fields[] {
  const fields = toSignedFields(card)
  const compact = (withoutEmpty(fields) ?? {}) as Fields
  const { securitySchemes: _, ...withoutSchemes } = compact
  return [fields, compact, withoutSchemes]
}

function withoutEmpty(value: unknown): unknown {
  if (value === '' || value === null) return undefined
  if (typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((each) => each !== undefined)
    return items.length > 0 ? items : undefined
  }
  const entries = Object.entries(value as Fields)
    .map(([name, each]) => [name, withoutEmpty(each)] as const)
    .filter(([, each]) => each !== undefined)
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}
