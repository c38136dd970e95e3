import { outcomeOf, type Conversation, type Move } from './rule-model.ts'

const HELP = 'Write “Deliver 5 parcels”; I take up to 20 at once.'
const DELIVER = /\b(\d{1,2}) parcels?\b/i
const MAX_PARCELS = 20

/** Delivers parcels, one after the other. */
export function deliverParcels({ message, outcomes }: Conversation): Move {
  const count = Number(DELIVER.exec(message.slice(0, 2_000))?.[1] ?? 0)
  if (count < 1 || count > MAX_PARCELS) return { answer: HELP }
  const lines: string[] = []
  for (let parcel = 1; parcel <= count; parcel++) {
    const call = { toolName: 'deliver', args: { parcel } }
    const outcome = outcomeOf(outcomes, call)
    if (outcome === undefined) return { calls: [call] }
    const { deliveredAt } = (outcome.result ?? {}) as { deliveredAt?: string }
    lines.push(`Parcel ${parcel}: ${deliveredAt?.slice(11, 19) ?? `not delivered, ${outcome.error}`}`)
  }
  return { answer: `All ${count} parcels are done (UTC).\n${lines.join('\n')}` }
}
