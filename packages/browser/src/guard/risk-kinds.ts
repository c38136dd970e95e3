/** What makes an action worth an approval. */
export const RISK_KINDS = ['submit', 'pay', 'delete', 'upload', 'download', 'newHost'] as const
export type RiskKind = (typeof RISK_KINDS)[number]

/** What an action is, by facts of the page rather than by what the model or the page says of it. */
export interface Assessment {
  readonly kinds: readonly RiskKind[]
  /** What will happen, in words for the approver. */
  readonly about: string
  /** The arguments that were assessed, as JSON. */
  readonly args: string
}

/** An assessment that decided about an approval. */
export interface Decided extends Assessment {
  /** The kinds that wait for an approval. */
  readonly watched: readonly RiskKind[]
}

// In English, German, French, Spanish, Italian, Portuguese and Dutch: a sign, not a proof, so that `submit` should be asked for too.
const PAY = words(
  'pay|payment|buy|purchase|checkout|check out|place order|order now|subscribe|donate',
  'bezahlen|zahlen|kaufen|bestellen|zahlungspflichtig|kasse|spenden',
  'payer|acheter|commander|paiement|pagar|comprar|pedido|paga|acquista|ordina|compra|finalizar|betalen|kopen|bestel'
)
const DELETE = words(
  'delete|remove|erase|destroy|discard|unsubscribe|deactivate|close account|cancel (?:order|subscription|account|booking)',
  'löschen|entfernen|kündigen|stornieren|verwerfen',
  'supprimer|effacer|retirer|résilier|eliminar|borrar|quitar|elimina|cancella|rimuovi|excluir|apagar|remover|verwijderen|wissen'
)

/** What a name of a button, or the path of its form, says about what it does. */
export function kindsOfName(name: string): ('pay' | 'delete')[] {
  return [...(PAY.test(name) ? (['pay'] as const) : []), ...(DELETE.test(name) ? (['delete'] as const) : [])]
}

function words(...lists: readonly string[]): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${lists.join('|')})(?![\\p{L}\\p{N}])`, 'iu')
}
