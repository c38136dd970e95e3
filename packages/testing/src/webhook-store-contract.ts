import type { StoredWebhook } from '@svc/contract'
import { codeOf, HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { outboxContract } from './outbox-contract.ts'
import { completed, textEntry } from './stored-run.ts'
import {
  addWebhook,
  asks,
  beginRun,
  claimAll,
  DAY,
  failed,
  given,
  LATER,
  storedWebhook,
  type WebhookStores
} from './stored-webhook.ts'

/** The contract of every `WebhookStore`, and of the log that it belongs to. */
export function webhookStoreContract(t: ContractTest, make: MakeStore<WebhookStores>): void {
  const test = (name: string, run: (t: ContractTest, stores: WebhookStores) => Promise<void>) =>
    withStore(t, make, name, run)
  outboxContract(t, make)

  test('keeps webhooks as they are, until they are removed', async (t, stores) => {
    const { webhooks } = stores
    const kept = await addWebhook(stores, {
      owner: HOSTILE_TEXT,
      registries: ['a', 'b'],
      events: ['run.failed'],
      url: `https://one.example/?q=${encodeURIComponent(HOSTILE_TEXT)}`
    })
    const { webhookId } = kept
    t.same(await webhooks.get(webhookId), kept)
    t.equal(await webhooks.get('missing'), undefined)
    t.equal(await webhooks.change(webhookId, { secrets: [], url: 'http://two.example' }, 2_000), true)
    const changed = { ...kept, secrets: [], url: 'http://two.example', updatedAt: 2_000 }
    t.same(await webhooks.get(webhookId), changed)
    t.equal(await webhooks.change('missing', { secrets: [] }, 2_000), false)
    t.equal(await webhooks.remove(webhookId), true)
    t.equal(await webhooks.remove(webhookId), false)
    t.equal(await webhooks.get(webhookId), undefined)
  })

  test('lists those of owners, newest first, in pages, and limits their number', async (t, stores) => {
    const { webhooks } = stores
    const added: StoredWebhook[] = []
    for (let n = 0; n < 5; n++) added.push(await addWebhook(stores, { createdAt: 1_000 + (n >> 1) }))
    const other = await addWebhook(stores, { owner: 'grace', registries: ['a'] })
    await addWebhook(stores, { runId: 'r' })
    const idsOf = async (query: { owner?: string; registries?: string[] }) => {
      const ids: string[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await webhooks.list({ limit: 2, ...query, ...(cursor && { cursor }) })
        ids.push(...page.webhooks.map(({ webhookId }) => webhookId))
        cursor = page.nextCursor
      }
      return ids
    }
    const newest = added.toSorted((a, b) => b.createdAt - a.createdAt || (a.webhookId < b.webhookId ? 1 : -1))
    t.same(
      await idsOf({ owner: 'ada' }),
      newest.map(({ webhookId }) => webhookId)
    )
    t.equal((await idsOf({})).length, 6)
    t.same(await idsOf({ registries: ['a'] }), [other.webhookId])
    t.same(await idsOf({ registries: [], owner: 'grace' }), [])
    t.equal(await codeOf(async () => webhooks.list({ limit: 1, cursor: 'x' })), 'REG_ERR_BAD_CURSOR')
    const create = (fields: Partial<StoredWebhook>, most: number) =>
      codeOf(async () => webhooks.create(storedWebhook(fields), most))
    t.equal(await create({}, 5), 'RUN_ERR_TOO_MANY_WEBHOOKS')
    t.equal(await create({}, 6), 'none')
    t.equal(await create({ runId: 'r', owner: 'eve' }, 1), 'none', 'those of runs count for themselves')
    t.equal(await create({ runId: 's', owner: 'eve' }, 1), 'RUN_ERR_TOO_MANY_WEBHOOKS')
    t.equal(await create({ owner: 'eve' }, 1), 'none')
  })

  test('the end of a run adds a message for each webhook that reports it', async (t, stores) => {
    const { run, change } = await beginRun(stores, { metadata: { a: HOSTILE_TEXT } })
    const all = await addWebhook(stores)
    const own = await addWebhook(stores, { runId: run.runId, secrets: [], registries: ['global'] })
    await addWebhook(stores, { events: ['run.failed', 'run.input-required'] })
    await addWebhook(stores, { owner: 'grace' })
    await addWebhook(stores, { registries: ['other'] })
    await addWebhook(stores, { runId: 'other' })
    let woken = 0
    const off = stores.webhooks.onAdded(() => woken++)
    await change({ status: 'working', at: 1_500 })
    t.same(await claimAll(stores), [])
    t.equal(woken, 0)
    await change(completed)
    t.ok(woken > 0)
    off()
    const messages = await claimAll(stores)
    t.same(
      messages.map(({ webhookId }) => webhookId).toSorted(),
      [all, own].map((each) => each.webhookId).toSorted()
    )
    const message = messages.find(({ webhookId }) => webhookId === all.webhookId)!
    const { registry, kind, name, owner, sessionId, metadata, runId } = run
    t.same(
      { ...message, seq: 0 },
      {
        ...{ runId, registry, kind, name, owner, sessionId, metadata, seq: 0, webhookId: all.webhookId },
        deliveryId: `${runId}_${all.webhookId}`,
        ...{ event: 'run.completed', detail: null, at: completed.at, state: 'pending', dueAt: LATER + 1 },
        ...{ attempts: 1, lastStatus: null, lastError: null, url: all.url, secrets: all.secrets }
      }
    )
  })

  test('a failure and each input are reported, other ends are not', async (t, stores) => {
    const { webhookId } = await addWebhook(stores)
    const { run, change } = await beginRun(stores)
    await change(asks(run.runId, 1))
    await change({ status: 'working', at: 2_500 })
    await change(asks(run.runId, 2))
    await change(failed)
    await (await beginRun(stores)).change({ status: 'canceled', at: 3_000 })
    const found: unknown[] = []
    const due = async () => (await claimAll(stores))[0]
    for (let next = await due(); next !== undefined; next = await due()) {
      found.push([next.event, next.deliveryId, next.detail])
      await stores.webhooks.settle(next.deliveryId, next.attempts, { state: 'delivered' })
    }
    const expiresAt = new Date(9_000).toISOString()
    const input = (n: number) => ({ inputId: `${run.runId}.${n}`, kind: 'question', expiresAt })
    t.same(found, [
      ['run.input-required', `${run.runId}_1_${webhookId}`, input(1)],
      ['run.input-required', `${run.runId}_2_${webhookId}`, input(2)],
      ['run.failed', `${run.runId}_${webhookId}`, { code: 'X', message: 'It broke', retryable: false }]
    ])
  })

  test('a refused end adds nothing', async (t, stores) => {
    await addWebhook(stores)
    const { run } = await beginRun(stores)
    const late = async () => stores.log.append(run.runId, 7, [textEntry(1)], completed)
    t.equal(await codeOf(late), 'RUN_ERR_FENCED')
    t.same(await claimAll(stores), [])
  })

  test('messages go with their webhook', async (t, stores) => {
    const { webhookId } = await addWebhook(stores)
    await (await beginRun(stores)).change(completed)
    await stores.webhooks.remove(webhookId)
    t.same((await stores.webhooks.listDeliveries({ limit: 9 })).deliveries, [])
    t.same(await claimAll(stores), [])
  })

  test('messages go with a run that is removed, and so does its webhook', async (t, stores) => {
    const kept = await addWebhook(stores)
    const { run, change } = await beginRun(stores)
    const own = await addWebhook(stores, { runId: run.runId })
    await change(completed)
    await (await beginRun(stores)).change(completed)
    await stores.webhooks.removeRun(run.runId)
    t.equal(await stores.webhooks.get(own.webhookId), undefined)
    const left = await claimAll(stores)
    t.same(
      left.map(({ runId, webhookId }) => [runId === run.runId, webhookId]),
      [[false, kept.webhookId]]
    )
  })

  test('removes the webhooks of an owner, a page at a time', async (t, stores) => {
    for (const runId of [null, 'r', null]) await addWebhook(stores, { runId })
    const other = await addWebhook(stores, { owner: 'grace' })
    await (await beginRun(stores)).change(completed)
    t.equal(await stores.webhooks.removeOwner('ada', 2), 2)
    t.equal(await stores.webhooks.removeOwner('ada', 2), 1)
    t.equal(await stores.webhooks.removeOwner('ada', 2), 0)
    t.same((await stores.webhooks.listDeliveries({ limit: 9 })).deliveries, [])
    t.ok(await stores.webhooks.get(other.webhookId))
  })

  test('sweeps what was dead for long, and webhooks of runs that are over', async (t, stores) => {
    const { webhooks } = stores
    const kept = await addWebhook(stores)
    const { run, change } = await beginRun(stores)
    const own = await addWebhook(stores, {
      runId: run.runId,
      events: ['run.completed'],
      createdAt: Date.now()
    })
    const coming = await addWebhook(stores, { runId: 'coming', createdAt: Date.now() })
    t.equal(await webhooks.sweep(Date.now()), 0)
    await change(completed)
    t.equal(await webhooks.sweep(Date.now()), 0, 'messages wait')
    for (const { deliveryId, webhookId } of await claimAll(stores))
      await webhooks.settle(
        deliveryId,
        1,
        webhookId === own.webhookId ? { state: 'delivered' } : given({ at: 5 })
      )
    await webhooks.sweep(Date.now())
    t.equal(await webhooks.get(own.webhookId), undefined)
    t.same((await webhooks.listDeliveries({ limit: 9 })).deliveries, [])
    for (const { webhookId } of [kept, coming]) t.ok(await webhooks.get(webhookId))
    await webhooks.sweep(LATER + 100 * DAY)
    t.equal(await webhooks.get(coming.webhookId), undefined, 'its run never came')
    t.ok(await webhooks.get(kept.webhookId))
  })
}
