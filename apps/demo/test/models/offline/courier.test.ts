import t from 'tap'
import { deliverParcels } from '../../../src/models/offline/courier.ts'

const conversation = (message: string, outcomes: object[] = []) =>
  ({ earlier: [], message, outcomes, instructions: '', situation: '' }) as Parameters<
    typeof deliverParcels
  >[0]
const delivered = (parcel: number) => ({
  toolName: 'deliver',
  args: { parcel },
  result: { parcel, deliveredAt: `2026-01-01T10:00:0${parcel}.000Z` }
})

t.test('delivers one parcel after the other, then says when', async (t) => {
  const ask = (...outcomes: object[]) => deliverParcels(conversation('Deliver 2 parcels', outcomes))
  t.same(ask(), { calls: [{ toolName: 'deliver', args: { parcel: 1 } }] })
  t.same(ask(delivered(1)), { calls: [{ toolName: 'deliver', args: { parcel: 2 } }] })
  t.match(ask(delivered(1), delivered(2)), { answer: /Parcel 1: 10:00:01\nParcel 2: 10:00:02$/ })
  const failed = { toolName: 'deliver', args: { parcel: 2 }, error: 'nobody was at home' }
  t.match(ask(delivered(1), failed), { answer: /Parcel 2: not delivered, nobody was at home$/ })
})

t.test('takes 1 to 20 parcels', async (t) => {
  for (const message of ['Deliver 0 parcels', 'Deliver 21 parcels', 'Deliver 100 parcels', 'Hello', ''])
    t.match(deliverParcels(conversation(message)), { answer: /Deliver 5 parcels/ }, message)
})
