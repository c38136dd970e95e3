import { codeOf, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { completed } from './stored-run.ts'
import {
  addWebhook,
  asks,
  beginRun,
  claimAll,
  NOT_BUSY,
  DAY,
  given,
  LATER,
  type WebhookStores
} from './stored-webhook.ts'

/** The part of the contract of a `WebhookStore` that is about the messages of its outbox. */
export function outboxContract(t: ContractTest, make: MakeStore<WebhookStores>): void {
  const test = (name: string, run: (t: ContractTest, stores: WebhookStores) => Promise<void>) =>
    withStore(t, make, name, run)

  test('a claim is for one process, until its time is over', async (t, stores) => {
    await addWebhook(stores)
    for (let n = 0; n < 6; n++) await (await beginRun(stores)).change(completed)
    const claims = await Promise.all([1, 2, 3].map(() => claimAll(stores, { limit: 2 })))
    t.equal(new Set(claims.flat().map(({ deliveryId }) => deliveryId)).size, claims.flat().length)
    const rest = await claimAll(stores)
    t.equal(claims.flat().length + rest.length, 6)
    t.same(await claimAll(stores), [])
    t.equal(await stores.webhooks.nextAt(NOT_BUSY), LATER + 1)
    const again = await claimAll(stores, { now: LATER + 1, until: LATER + 2 })
    t.equal(again.length, 6)
    t.ok(again.every(({ attempts }) => attempts === 2))
  })

  test('hosts that are busy get nothing', async (t, stores) => {
    await addWebhook(stores)
    const two = await addWebhook(stores, { url: 'https://two.example:8443/' })
    await (await beginRun(stores)).change(completed)
    const claimed = await claimAll(stores, { busy: { hosts: ['one.example'], owners: [] } })
    t.same(
      claimed.map(({ webhookId }) => webhookId),
      [two.webhookId]
    )
    t.same(await claimAll(stores, { busy: { hosts: ['one.example', 'two.example:8443'], owners: [] } }), [])
    t.equal(await stores.webhooks.nextAt({ hosts: ['one.example'], owners: [] }), LATER + 1)
    t.ok((await stores.webhooks.nextAt(NOT_BUSY))! <= LATER)
    t.equal(
      await stores.webhooks.nextAt({ hosts: ['one.example', 'two.example:8443'], owners: [] }),
      undefined
    )
  })

  test('owners that have their share get nothing', async (t, stores) => {
    for (const owner of ['ada', 'eve']) {
      await addWebhook(stores, { owner })
      await (await beginRun(stores, { owner })).change(completed)
    }
    const busy = { hosts: [], owners: ['eve'] }
    t.same(ownersOf(await claimAll(stores, { busy })), ['ada'])
    t.equal(await stores.webhooks.nextAt(busy), LATER + 1)
    t.ok((await stores.webhooks.nextAt(NOT_BUSY))! <= LATER)
    t.same(ownersOf(await claimAll(stores)), ['eve'])
  })

  test('a later message of a run waits for the earlier one', async (t, stores) => {
    await addWebhook(stores)
    const { run, change } = await beginRun(stores)
    await change(asks(run.runId, 1))
    await change(completed)
    const [first, ...more] = await claimAll(stores)
    t.equal(first?.event, 'run.input-required')
    t.same([...more, ...(await claimAll(stores))], [])
    const { deliveryId } = first!
    await stores.webhooks.settle(deliveryId, 1, given({ state: 'pending', at: LATER + DAY }))
    t.same(await claimAll(stores), [], 'it waits for the next attempt')
    t.equal(await stores.webhooks.nextAt(NOT_BUSY), LATER + DAY)
    await claimAll(stores, { now: LATER + DAY, until: LATER + DAY })
    await stores.webhooks.settle(deliveryId, 2, given())
    const [last] = await claimAll(stores)
    t.equal(last?.event, 'run.completed', 'a dead one is not waited for')
  })

  test('what came of an attempt is recorded, unless another one has begun', async (t, stores) => {
    const { webhooks } = stores
    await addWebhook(stores)
    await (await beginRun(stores)).change(completed)
    const [{ deliveryId } = { deliveryId: '' }] = await claimAll(stores, { until: LATER })
    await claimAll(stores)
    await webhooks.settle(deliveryId, 1, given())
    t.equal((await webhooks.findDelivery(deliveryId))?.state, 'pending', 'the first attempt is outdated')
    await webhooks.settle(deliveryId, 2, given({ lastStatus: null, lastError: 'TIMEOUT' }))
    const dead = (await webhooks.findDelivery(deliveryId))!
    t.same([dead.state, dead.lastStatus, dead.lastError, dead.attempts], ['dead', null, 'TIMEOUT', 2])
    t.same(await claimAll(stores, { now: LATER + DAY }), [])
    t.equal(await webhooks.retry('missing', LATER), false)
    t.equal(await webhooks.retry(deliveryId, LATER), true)
    t.equal(await webhooks.retry(deliveryId, LATER), false, 'it is not dead any more')
    const [again] = await claimAll(stores)
    t.same([again?.deliveryId, again?.attempts], [deliveryId, 1])
    await webhooks.settle(deliveryId, 7, { state: 'delivered' })
    t.equal(await webhooks.findDelivery(deliveryId), undefined, 'delivered is delivered')
  })

  test('lists messages, newest first, in pages', async (t, stores) => {
    const { webhooks } = stores
    await addWebhook(stores)
    await addWebhook(stores, { owner: 'grace' })
    for (const registry of ['global', 'other', 'global'])
      await (await beginRun(stores, { registry })).change(completed)
    await (await beginRun(stores, { owner: 'grace' })).change(completed)
    const [first] = await claimAll(stores, { limit: 1 })
    await webhooks.settle(first!.deliveryId, 1, given())
    const list = async (query: object) => {
      const seqs: number[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await webhooks.listDeliveries({ limit: 2, ...query, ...(cursor && { cursor }) })
        seqs.push(...page.deliveries.map(({ seq }) => seq))
        cursor = page.nextCursor
      }
      t.same(
        seqs,
        seqs.toSorted((a, b) => b - a)
      )
      return seqs.length
    }
    t.equal(await list({}), 4)
    t.equal(await list({ owner: 'ada' }), 3)
    t.equal(await list({ owner: 'ada', registries: ['global'] }), 2)
    t.equal(await list({ registries: [] }), 0)
    t.equal(await list({ state: 'dead' }), 1)
    t.equal(await list({ state: 'pending' }), 3)
    t.equal(
      await codeOf(async () => webhooks.listDeliveries({ limit: 1, cursor: 'x' })),
      'REG_ERR_BAD_CURSOR'
    )
  })
}

function ownersOf(claimed: readonly { owner: string }[]): string[] {
  return claimed.map(({ owner }) => owner)
}
