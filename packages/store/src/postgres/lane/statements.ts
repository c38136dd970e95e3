/** A statement of the lane; prepared under its name, once per connection. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** Which rows an append has besides parts: each kind costs its statement a clause. */
export interface AppendShape {
  readonly steps: boolean
  readonly inputs: boolean
  readonly values: boolean
  readonly reports: boolean
  /** True if an earlier attempt may have written the same rows; looking for them costs as much as writing them. */
  readonly repeat: boolean
}

/** The statements of a lane: each writes the rows of any number of runs. */
export interface Statements {
  /** Returns the ordinals of the runs that it inserted. `limited` if some owners may have a limited number. */
  create(limited: boolean): Statement
  /** Returns the ordinals of the runs that exist. */
  readonly enter: Statement
  /** Returns the ordinals of the appends that are not fenced. */
  append(shape: AppendShape): Statement
  /** Also changes the records. Returns the ordinals of the appends that are not fenced. */
  change(shape: AppendShape): Statement
  /** Returns the ordinals of the checkpoints that are not fenced. */
  readonly save: Statement
  readonly forget: Statement
  /** Of changes that were written before, returns the ordinals of those that ended their runs. */
  readonly ended: Statement
  /** Of runs that may have been created before, returns the ordinals of those that were. */
  readonly created: Statement
}

/** The columns of a new run, in the order of the parameters of `create`. */
export const RUN_COLUMNS = [
  ['run_id', 'text'],
  ['registry', 'text'],
  ['kind', 'text'],
  ['name', 'text'],
  ['session_id', 'text'],
  ['owner', 'text'],
  ['user_id', 'text'],
  ['start_key', 'text'],
  ['start_hash', 'text'],
  ['metadata', 'text'],
  ['created_at', 'bigint'],
  ['updated_at', 'bigint'],
  ['status', 'text'],
  ['epoch', 'int'],
  ['result', 'text'],
  ['error', 'text'],
  ['ended_at', 'bigint'],
  ['node_id', 'text']
] as const

/** The columns of a session that a run enters, in the order of the parameters of `enter`, after the run. */
export const ENTER_COLUMNS = [
  ['session_key', 'text'],
  ['registry', 'text'],
  ['owner', 'text'],
  ['kind', 'text'],
  ['name', 'text'],
  ['session_id', 'text'],
  ['updated_at', 'bigint']
] as const

/** The columns of a new input, in the order of the parameters of `change`. */
export const INPUT_COLUMNS = [
  ['input_id', 'text'],
  ['kind', 'text'],
  ['message', 'text'],
  ['schema', 'text'],
  ['tool_call_id', 'text'],
  ['tool_name', 'text'],
  ['args', 'text'],
  ['args_bytes', 'bigint'],
  ['source', 'text'],
  ['path', 'text'],
  ['expires_at', 'bigint'],
  ['answer', 'text'],
  ['seal_key', 'text']
] as const

type Column = readonly [name: string, type: string]

/** @param table quotes the name of a table, with its schema */
export function createStatements(table: (name: string) => string): Statements {
  const run = table('run')
  const shaped = new Map<string, Statement>()
  const build = (kind: 'append' | 'change', shape: AppendShape) => {
    const more = Object.entries(shape).flatMap(([name, has]) => (has ? [name] : []))
    const name = ['svc', kind, ...more].join(' ')
    let statement = shaped.get(name)
    if (statement === undefined) {
      statement = { name, text: kind === 'append' ? appendText(table, shape) : changeText(table, shape) }
      shaped.set(name, statement)
    }
    return statement
  }
  const names = RUN_COLUMNS.map(([name]) => name).join(', ')
  const created = (rows: string, from: string) => `with ${rows},
    i as (insert into ${run} (${names}, bytes) select ${names}, 0 from ${from} order by ord
      on conflict do nothing returning run_id)
    select ord::int from n join i using (run_id)`
  const unlimited = {
    name: 'svc create',
    text: created(`n as (select * from ${unnest(RUN_COLUMNS, 1)})`, 'n')
  }
  const most = `$${RUN_COLUMNS.length + 1}::bigint[]`
  // The runs of one owner in one batch count too.
  const limited = {
    name: 'svc create limited',
    text: created(
      `n as (select t.*, m.most from ${unnest(RUN_COLUMNS, 1)} join unnest(${most}) with ordinality as m(most, ord) using (ord)),
      o as (select owner, (select count(*) from ${run} r where r.owner = n.owner and r.ended_at is null and r.epoch > 0) as live
        from n where most is not null group by owner),
      c as (select n.*, coalesce(o.live, 0) + row_number() over (partition by n.owner order by n.ord) as place
        from n left join o using (owner))`,
      'c where most is null or place <= most'
    )
  }
  return {
    create: (isLimited) => (isLimited ? limited : unlimited),
    enter: { name: 'svc enter', text: enterText(table) },
    append: (shape) => build('append', shape),
    change: (shape) => build('change', shape),
    save: {
      name: 'svc save',
      text: `with u as (select * from unnest($1::text[], $2::int[], $3::text[]) with ordinality as t(run_id, epoch, state, ord)),
        f as (select r.run_id, r.epoch, r.ended_at from ${run} r join u using (run_id) for share of r),
        w as (insert into ${table('checkpoint')} as c (run_id, epoch, state) select run_id, epoch, state from u
          where not exists (select from f where f.run_id = u.run_id and (f.epoch > u.epoch or f.ended_at is not null))
          on conflict (run_id) do update set epoch = excluded.epoch, state = excluded.state where c.epoch <= excluded.epoch
          returning run_id)
        select ord::int from u join w using (run_id)`
    },
    forget: {
      name: 'svc forget',
      text: `delete from ${table('checkpoint')} where run_id = any($1::text[])`
    },
    ended: {
      name: 'svc ended',
      text: `select ord::int from unnest($1::text[], $2::int[], $3::bigint[]) with ordinality as t(run_id, epoch, ended_at, ord)
        join ${run} r using (run_id, epoch, ended_at)`
    },
    created: {
      name: 'svc created',
      text: `select ord::int from unnest($1::text[]) with ordinality as t(run_id, ord) join ${run} using (run_id)`
    }
  }
}

// Sessions are locked in the order of their keys, so that two nodes do not wait for each other. Worded so that only indexes of ids serve it.
function enterText(table: (name: string) => string): string {
  const names = ENTER_COLUMNS.map(([name]) => name).join(', ')
  return `with u as (select * from ${unnest([['run_id', 'text'], ...ENTER_COLUMNS], 1)}
      where (select 1 from ${table('run')} r where r.run_id = t.run_id limit 1) = 1),
    n as (select u.*, row_number() over (partition by session_key order by ord) as place from u
      where (select 1 from ${table('session_run')} e where e.run_id = u.run_id limit 1) is null),
    l as (select distinct on (session_key) n.* from n order by session_key, place desc),
    s as (insert into ${table('session')} as s (${names}, created_at, last_ordinal, last_run, listed)
      select ${names}, updated_at, place, run_id, 1 from l order by session_key
      on conflict (session_key) do update set last_ordinal = s.last_ordinal + excluded.last_ordinal, updated_at = excluded.updated_at,
        last_run = excluded.last_run, listed = 1
      returning session_key, last_ordinal),
    e as (insert into ${table('session_run')} (session_key, ordinal, run_id)
      select n.session_key, s.last_ordinal - l.place + n.place, n.run_id from n join s using (session_key) join l using (session_key))
    select ord::int from u`
}

// Worded so that only the index of ids serves it: those of unfinished runs would be read as a whole for each run.
const IS_UNFINISHED = 'coalesce(r.ended_at, 0) = 0'

// Locking the runs in share mode serializes the write with a lease of theirs: it is before the next epoch, or refused.
function appendText(table: (name: string) => string, shape: AppendShape): string {
  return `with u as (select * from unnest($1::text[], $2::int[]) with ordinality as t(run_id, epoch, ord)),
    h as (select u.ord, r.run_id from ${table('run')} r join u using (run_id, epoch) where ${IS_UNFINISHED} for share of r)
    ${insertRows(table, shape, 3)}
    select ord::int from h`
}

const CHANGE_COLUMNS: readonly Column[] = [
  ['run_id', 'text'],
  ['epoch', 'int'],
  ['bytes', 'bigint'],
  ['status', 'text'],
  ['at', 'bigint'],
  ['ended_at', 'bigint'],
  ['result', 'text'],
  ['preview', 'text'],
  ['stats', 'text'],
  ['error', 'text']
]

const REPORTED_COLUMNS = ', r.owner, r.registry, r.kind, r.name, r.session_id, r.metadata, r.updated_at as at'

// A message for each webhook of the run or its owner. It is due by the clock of the database.
function insertReports(table: (name: string) => string, first: number): string {
  const columns = 'run_id, owner, registry, kind, name, session_id, metadata, at'
  return `, n_webhook_delivery as (insert into ${table('webhook_delivery')} (delivery_id, webhook_id, ${columns}, event, detail, due_at)
      select p.key || '_' || w.webhook_id, w.webhook_id, ${columns.replaceAll(/\w+/g, 'h.$&')}, p.event, p.detail,
        (extract(epoch from clock_timestamp()) * 1000)::bigint
      from unnest($${first}::int[], $${first + 1}::text[], $${first + 2}::text[], $${first + 3}::text[]) as p(ord, event, detail, key)
      join h on h.ord = p.ord join ${table('webhook')} w on w.subject in ('run ' || h.run_id, 'owner ' || h.owner)
      where strpos(w.events, ' ' || p.event || ' ') > 0
        and (w.registries = '' or strpos(w.registries, ' ' || h.registry || ' ') > 0)
      on conflict do nothing returning run_id)`
}

function changeText(table: (name: string) => string, shape: AppendShape): string {
  const removed = ['run_step', 'checkpoint'].map(
    (name) =>
      `, no_${name} as (delete from ${table(name)} x using h where h.ended_at is not null and x.run_id = h.run_id)`
  )
  return `with u as (select * from ${unnest(CHANGE_COLUMNS, 1)}),
    h as (update ${table('run')} r set bytes = r.bytes + u.bytes, status = u.status, updated_at = u.at, ended_at = u.ended_at,
      result = coalesce(u.result, r.result), preview = coalesce(u.preview, r.preview),
      stats = coalesce(u.stats, r.stats), error = coalesce(u.error, r.error)
      from u where r.run_id = u.run_id and r.epoch = u.epoch and ${IS_UNFINISHED}
      returning u.ord, r.run_id, r.ended_at${shape.reports ? REPORTED_COLUMNS : ''})
    ${insertRows(table, shape, CHANGE_COLUMNS.length + 1)} ${removed.join(' ')}
    select ord::int${shape.reports ? ', exists (select from n_webhook_delivery d where d.run_id = h.run_id) as reported' : ''} from h`
}

// Each row names the append that it belongs to by its ordinal.
function insertRows(table: (name: string) => string, shape: AppendShape, first: number): string {
  let next = first
  const clause = (name: string, columns: readonly Column[], onConflict: string) => {
    const all: Column[] = [['ord', 'int'], ...columns]
    const names = columns.map(([column]) => column).join(', ')
    const rows = `unnest(${all.map(([, type]) => `$${next++}::${type}[]`).join(', ')})`
    return `, n_${name} as (insert into ${table(name)} (run_id, ${names})
      select h.run_id, ${columns.map(([column]) => `p.${column}`).join(', ')}
      from ${rows} as p(ord, ${names}) join h on h.ord = p.ord ${onConflict})`
  }
  const ifNew = 'on conflict do nothing'
  const conflict = shape.repeat ? ifNew : ''
  let text = clause(
    'run_part',
    [
      ['seq', 'int'],
      ['json', 'text']
    ],
    conflict
  )
  if (shape.steps)
    text += clause(
      'run_step',
      [
        ['key', 'text'],
        ['output', 'text']
      ],
      ifNew
    )
  if (shape.inputs) text += clause('run_input', INPUT_COLUMNS, conflict)
  if (shape.values)
    text += clause(
      'run_value',
      [
        ['name', 'text'],
        ['seq', 'int'],
        ['json', 'text']
      ],
      conflict
    )
  if (shape.reports) text += insertReports(table, next)
  return text
}

function unnest(columns: readonly Column[], first: number): string {
  const parameters = columns.map(([, type], index) => `$${first + index}::${type}[]`)
  return `unnest(${parameters.join(', ')}) with ordinality as t(${columns.map(([name]) => name).join(', ')}, ord)`
}
