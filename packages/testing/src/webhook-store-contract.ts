import { randomUUID } from 'node:crypto'
import {
  WEBHOOK_EVENTS,
  type BusyReceivers,
  type ClaimedDelivery,
  type ClaimQuery,
  type DeliveryOutcome,
  type RunChange,
  type StoredRun,
  type StoredWebhook,
  type Stores
} from '@svc/contract'
import { codeOf, HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { completed, storedRun, textEntry } from './stored-run.ts'

/** What the contract of a store of webhooks needs. */
export type WebhookStores = Pick<Stores, 'runs' | 'log'> & Required<Pick<Stores, 'webhooks'>>

const DAY = 86_400_000
/** After the clock of any database. */
const LATER = Date.now() + 300 * DAY

/** Creates a webhook for all runs of an owner. */
export function storedWebhook(fields: Partial<StoredWebhook> = {}): StoredWebhook {
  return {
    webhookId: randomUUID(),
    owner: 'ada',
    runId: null,
    registries: [],
    url: 'https://one.example/hook',
    events: WEBHOOK_EVENTS,
    secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    createdAt: 1_000,
    updatedAt: 1_000,
    ...fields
  }
}

type FailedAttempt = Exclude<DeliveryOutcome, { state: 'delivered' }>

/** The change that fails a run. */
const failed = {
  status: 'failed',
  at: 4_000,
  error: { code: 'X', message: 'It broke', retryable: false, statusCode: 500 }
} as const

/** A change with the new input of this number. */
const asks = (runId: string, n: number): RunChange => ({
  status: 'input-required',
  at: 2_000 + n,
  input: {
    inputId: `${runId}.${n}`,
    kind: 'question',
    message: 'What?',
    source: [],
    path: [],
    expiresAt: 9_000,
    answer: null
  }
})

/** What came of an attempt: by default the last one has failed. */
const given = (outcome: Partial<FailedAttempt> = {}): DeliveryOutcome => ({
  state: 'dead',
  at: LATER,
  lastStatus: 500,
  lastError: null,
  ...outcome
})

/** Adds a webhook. */
async function addWebhook(
  { webhooks }: WebhookStores,
  fields: Partial<StoredWebhook> = {}
): Promise<StoredWebhook> {
  const webhook = storedWebhook(fields)
  await webhooks.create(webhook, 1_000)
  return webhook
}

/** Begins a run whose record can be changed. */
async function beginRun({ runs, log }: WebhookStores, fields: Partial<StoredRun> = {}) {
  const run = storedRun(fields)
  await runs.create(run)
  let seq = 0
  const change = async (to: RunChange) => log.append(run.runId, 1, [textEntry(++seq)], to)
  return { run, change }
}

/** Every receiver may get messages. */
const NOT_BUSY: BusyReceivers = { hosts: [], owners: [] }

/** Claims what is due. */
async function claimAll(
  { webhooks }: WebhookStores,
  query: Partial<ClaimQuery> = {}
): Promise<ClaimedDelivery[]> {
  return webhooks.claim({ now: LATER, until: LATER + 1, limit: 100, busy: NOT_BUSY, ...query })
}

/** The part of the contract of a `WebhookStore` that is about the messages of its outbox. */
function outboxContract(t: ContractTest, make: MakeStore<WebhookStores>): void {
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
        events: all.events,
        runId,
        registry,
        kind,
        name,
        owner,
        sessionId,
        metadata,
        seq: 0,
        webhookId: all.webhookId,
        deliveryId: `${runId}_${all.webhookId}`,
        event: 'run.completed',
        detail: null,
        at: completed.at,
        state: 'pending',
        dueAt: LATER + 1,
        attempts: 1,
        lastStatus: null,
        lastError: null,
        url: all.url,
        secrets: all.secrets
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
