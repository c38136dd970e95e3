import { numberTickets, type TableName } from '../nodes/tickets.ts'

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

/** What creations of a batch have in common: each kind costs its statement clauses. */
export interface CreationShape {
  /** True if some owners may have a limited number of runs. */
  readonly limited: boolean
  /** True if some are given places among the turns of their sessions. */
  readonly placed: boolean
  /** True if an earlier attempt was precluded, or may have written the same rows. */
  readonly repeat: boolean
}

/** The statements of a lane: each writes the rows of any number of runs. */
export interface Statements {
  /** Returns the ordinals of the runs that it inserted, with their places. */
  create(shape: CreationShape): Statement
  /** Returns the places that were taken, or had been. */
  readonly place: Statement
  /** Returns the ordinals of the places that were given back. */
  readonly leave: Statement
  /** Returns the ordinals of the runs that exist. */
  readonly enter: Statement
  /** Locks sessions, by numbers made of their keys, until the end of the transaction: later statements see what others have committed in them. */
  readonly lock: Statement
  /** Returns the ordinals of the turns that are not fenced. */
  readonly turn: Statement
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
  ['format', 'int'],
  ['result', 'text'],
  ['error', 'text'],
  ['ended_at', 'bigint'],
  ['node_id', 'text']
] as const

/** The columns of the place of a new run, after its own. */
export const PLACE_COLUMNS = [
  ['session_key', 'text'],
  ['session_owner', 'text']
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

/** The columns of a turn, in the order of the parameters of `turn`, before the rows of its messages. */
export const TURN_COLUMNS = [
  ['run_id', 'text'],
  ['epoch', 'int'],
  ...ENTER_COLUMNS,
  ['turn_id', 'text'],
  ['title', 'text'],
  ['listed', 'int'],
  ['length', 'int'],
  ['parent_key', 'text'],
  ['parent_seq', 'int'],
  ['written', 'boolean']
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
export function createStatements(table: TableName): Statements {
  const run = table('run')
  const shaped = new Map<string, Statement>()
  const build = (kind: string, shape: AppendShape | CreationShape, write: () => string) => {
    const more = Object.entries(shape).flatMap(([name, has]) => (has ? [name] : []))
    const name = ['svc', kind, ...more].join(' ')
    let statement = shaped.get(name)
    if (statement === undefined) {
      statement = { name, text: write() }
      shaped.set(name, statement)
    }
    return statement
  }
  return {
    create: (shape) => build('create', shape, () => createText(table, shape)),
    place: { name: 'svc place', text: placeText(table) },
    leave: { name: 'svc leave', text: leaveText(table) },
    enter: { name: 'svc enter', text: enterText(table) },
    lock: { name: 'svc lock', text: 'select pg_advisory_xact_lock(k) from unnest($1::bigint[]) as t(k)' },
    turn: { name: 'svc turn', text: turnText(table) },
    append: (shape) => build('append', shape, () => appendText(table, shape)),
    change: (shape) => build('change', shape, () => changeText(table, shape)),
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

// Without a conflict clause a row costs less; a start key that another transaction takes meanwhile makes it a repetition, which has one.
// Start keys are looked for in words that only their index serves: a plan made while the table was small may read all runs of an owner.
function createText(table: TableName, { limited, placed, repeat }: CreationShape): string {
  const run = table('run')
  const names = RUN_COLUMNS.map(([name]) => name)
  const columns: readonly Column[] = [
    ...RUN_COLUMNS,
    ...(placed ? PLACE_COLUMNS : []),
    ...(limited ? [['most', 'bigint'] as const] : [])
  ]
  // The runs of one owner in one batch count too.
  const admitted = limited
    ? `a as (select * from ${unnest(columns, 1)}),
      o as (select owner, (select count(*) from ${table('run_open')} r where r.owner = a.owner and r.epoch > 0) as live
        from a where most is not null group by owner),
      c as (select a.*, coalesce(o.live, 0) + row_number() over (partition by a.owner order by a.ord) as nth
        from a left join o using (owner)),
      n as (select * from c where most is null or nth <= most)`
    : `n as (select * from ${unnest(columns, 1)})`
  const isFree = (of: string) => `(select 1 from ${run} r where ${of} limit 1) is null`
  const insert = (from: string, status: string) => `i as (insert into ${run} (${names.join(', ')}, bytes)
      select ${names.map((name) => (name === 'status' ? status : `n.${name}`)).join(', ')}, 0 from ${from}
      where ${isFree('r.run_id = n.run_id')} and (n.start_key is null
        or ${isFree("r.start_key = n.start_key and r.owner || '' = n.owner and r.registry || '' = n.registry")}) order by n.ord ${repeat ? 'on conflict do nothing' : ''} returning run_id)`
  if (!placed)
    return `with ${admitted}, ${insert('n', 'n.status')} select ord::int from n join i using (run_id)`
  return `with ${admitted},
    q as (select ord, session_key, run_id as holder, node_id, false as if_free from n where session_key is not null),
    ${numberTickets(table, 'q')},
    ${insert('n left join k using (ord)', `case when k.before > 0 then 'submitted' else n.status end`)},
    t as (insert into ${table('session_turn')} (session_key, ticket, holder, node_id)
      select k.session_key, k.ticket, k.holder, k.node_id from k join i on i.run_id = k.holder),
    u as (select n.run_id, n.session_key, n.registry, n.session_owner as owner, n.kind, n.name, n.session_id, n.updated_at, n.ord
      from n join i using (run_id) join k using (ord) where k.before = 0),
    ${enterClauses(table)}
    select n.ord::int, k.ticket, k.before, k.first, k.before = 0 as entered from n join i using (run_id) left join k using (ord)`
}

// A node that stood still may ask for the place of a run that others have ended meanwhile: it gets none, which would bar the session.
function placeText(table: TableName): string {
  return `with q as (select * from unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::boolean[])
        with ordinality as t(session_key, holder, node_id, if_free, of_run, ord)
      where not of_run or not exists (select from ${table('run')} r where r.run_id = t.holder and r.ended_at is not null)),
    ${numberTickets(table, 'q')},
    t as (insert into ${table('session_turn')} (session_key, ticket, holder, node_id)
      select session_key, ticket, holder, node_id from k where is_new),
    z as (update ${table('session_turn')} o set node_id = k.node_id from k
      where not k.is_new and o.session_key = k.session_key and o.holder = k.holder and o.node_id <> k.node_id)
    select ord::int, ticket, before, first from k`
}

// The ticket of an unfinished run stays for the node that continues it, if this one was declared dead meanwhile or the place is the run's own.
function leaveText(table: TableName): string {
  return `delete from ${table('session_turn')} t
    using unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::boolean[])
      with ordinality as g(session_key, holder, node_id, ticket, of_run, ord)
    where t.session_key = g.session_key and t.holder = g.holder and t.ticket = g.ticket and (g.of_run or t.node_id = g.node_id)
      and (not g.of_run and exists (select from ${table('node')} n where n.node_id = g.node_id)
        or not exists (select from ${table('run')} r where r.run_id = split_part(g.holder, '/', 1) and r.ended_at is null))
    returning g.ord::int,
      exists (select from ${table('session_turn')} o where o.session_key = t.session_key and o.ticket <> t.ticket) as waiting`
}

// Worded so that only indexes of ids serve it.
function enterText(table: TableName): string {
  return `with u as (select * from ${unnest([['run_id', 'text'], ...ENTER_COLUMNS], 1)}
      where (select 1 from ${table('run')} r where r.run_id = t.run_id limit 1) = 1),
    ${enterClauses(table)}
    select ord::int from u`
}

// The runs of the clause `u` enter their sessions, those that have not yet. Ordinals that a failover may have lost are not given again; a
// session may have been lost itself, if it was not there for long.
function enterClauses(table: TableName): string {
  const names = ENTER_COLUMNS.map(([name]) => name).join(', ')
  return `v as (select u.*, row_number() over (partition by session_key order by ord) as place from u
      where (select 1 from ${table('session_run')} e where e.run_id = u.run_id limit 1) is null),
    l as (select distinct on (session_key) v.* from v order by session_key, place desc),
    f as (select coalesce(max(least_ordinal), 0) as least,
        coalesce(max(least_ordinal) filter (where at > clock_timestamp() - interval '1 day'), 0) as recent from ${table('failover')}),
    ${saveSessions(table, `${names}, created_at, last_ordinal, last_run, listed`, {
      row: `${names}, updated_at, place + (select recent from f), run_id, 1`,
      old: `last_ordinal = greatest(s.last_ordinal, (select least from f)) + l.place, updated_at = l.updated_at, last_run = l.run_id, listed = 1`,
      found: 'last_ordinal'
    })},
    e as (insert into ${table('session_run')} (session_key, ordinal, run_id)
      select v.session_key, s.last_ordinal - l.place + v.place, v.run_id from v join s using (session_key) join l using (session_key))`
}

// Of the sessions of the clause `l`, in the clause `s`. Those that are there cost less to find than to conflict with; if another transaction
// inserts one meanwhile, this one is repeated.
function saveSessions(
  table: TableName,
  columns: string,
  { row, old, found }: Record<'row' | 'old' | 'found', string>
): string {
  const session = table('session')
  return `so as (update ${session} s set ${old} from l where s.session_key = l.session_key returning s.session_key, s.${found}),
    sn as (insert into ${session} as s (${columns})
      select ${row} from l where not exists (select from so where so.session_key = l.session_key) returning s.session_key, s.${found}),
    s as (select * from so union all select * from sn)`
}

// Turns of one session follow each other. The lock of a session makes `not exists` certain, worded so that only the index of turns serves
// it. A run that ended may still save its turn.
function turnText(table: TableName): string {
  const names = ENTER_COLUMNS.map(([name]) => name).join(', ')
  const first = TURN_COLUMNS.length + 1
  return `with u as (select * from ${unnest(TURN_COLUMNS, 1)}),
    f as (${fenced(table, 'u.ord', 'true')}),
    h as (select u.* from u left join f using (ord) where u.epoch is null or f.ord is not null),
    n as (select h.*, sum(h.length) over (partition by session_key order by ord) as upto from h
      where h.length > 0 and (select 1 from ${table('session_message')} m
        where m.session_key || '' = h.session_key and m.turn_id = h.turn_id limit 1) is null),
    l as (select distinct on (session_key) n.*, count(*) over w as added, sum(length) over w as total, max(listed) over w as shown
      from n window w as (partition by session_key) order by session_key, ord),
    ${saveSessions(table, `${names}, created_at, title, turns, last_seq, listed`, {
      row: `${names}, updated_at, title, added, total, shown`,
      old: `title = case when s.turns = 0 then coalesce(s.title, l.title) else s.title end, turns = s.turns + l.added,
        last_seq = s.last_seq + l.total, updated_at = l.updated_at, listed = greatest(s.listed, l.shown)`,
      found: 'last_seq'
    })},
    p as (select n.ord, n.session_key, n.turn_id, n.parent_key, n.parent_seq, s.last_seq - l.total + n.upto - n.length as before
      from n join s using (session_key) join l using (session_key)),
    m as (insert into ${table('session_message')} (session_key, seq, turn_id, message)
      select p.session_key, p.before + m.nth, p.turn_id, m.message
      from unnest($${first}::int[], $${first + 1}::int[], $${first + 2}::text[]) as m(ord, nth, message) join p using (ord)),
    b as (insert into ${table('session_branch')} (session_key, first_seq, parent_key, parent_seq)
      select session_key, before + 1, parent_key, parent_seq from p
      where parent_key <> session_key or parent_seq < before)
    select ord::int from h`
}

// Worded so that only the index of ids serves it: those of unfinished runs would be read as a whole for each run.
const IS_UNFINISHED = 'coalesce(r.ended_at, 0) = 0'

/** The columns of an append without a change, in the order of the parameters of `append`. */
const APPEND_COLUMNS: readonly Column[] = [
  ['run_id', 'text'],
  ['epoch', 'int'],
  ['written', 'boolean']
]

// Locking the runs in share mode serializes the write with a lease of theirs: it is before the next epoch, or refused. Those that this
// transaction has created or changed are locked.
function fenced(table: TableName, columns: string, where: string): string {
  const found = `select ${columns} from u join ${table('run')} r on r.run_id = u.run_id and r.epoch = u.epoch where ${where}`
  return `select * from (${found} and not u.written for share of r) l union all ${found} and u.written`
}

function appendText(table: TableName, shape: AppendShape): string {
  return `with u as (select * from ${unnest(APPEND_COLUMNS, 1)}),
    h as (${fenced(table, 'u.ord, r.run_id', IS_UNFINISHED)})
    ${insertRows(table, shape, APPEND_COLUMNS.length + 1)}
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
  ['error', 'text'],
  ['holds_turn', 'boolean']
]

const REPORTED_COLUMNS = ', r.owner, r.registry, r.kind, r.name, r.session_id, r.metadata, r.updated_at as at'

// A message for each webhook of the run or its owner. It is due by the clock of the database.
function insertReports(table: TableName, first: number): string {
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

// The end of a run frees its place, and nothing else does: what follows in its session sees what it has left.
function changeText(table: TableName, shape: AppendShape): string {
  const removed = ['run_step', 'checkpoint'].map(
    (name) =>
      `, no_${name} as (delete from ${table(name)} x using h where h.ended_at is not null and x.run_id = h.run_id)`
  )
  return `with u as (select * from ${unnest(CHANGE_COLUMNS, 1)}),
    h as (update ${table('run')} r set bytes = r.bytes + u.bytes, status = u.status, updated_at = u.at, ended_at = u.ended_at,
      result = coalesce(u.result, r.result), preview = coalesce(u.preview, r.preview),
      stats = coalesce(u.stats, r.stats), error = coalesce(u.error, r.error)
      from u where r.run_id = u.run_id and r.epoch = u.epoch and ${IS_UNFINISHED}
      returning u.ord, r.run_id, r.ended_at, u.holds_turn${shape.reports ? REPORTED_COLUMNS : ''}),
    t as (delete from ${table('session_turn')} t using h
      where h.ended_at is not null and not h.holds_turn and t.holder = h.run_id
      returning h.ord, exists (select from ${table('session_turn')} o where o.session_key = t.session_key and o.ticket <> t.ticket) as waiting)
    ${insertRows(table, shape, CHANGE_COLUMNS.length + 1)} ${removed.join(' ')}
    select ord::int, (select bool_or(t.waiting) from t where t.ord = h.ord) as waiting${shape.reports ? ', exists (select from n_webhook_delivery d where d.run_id = h.run_id) as reported' : ''} from h`
}

// Each row names the append that it belongs to by its ordinal.
function insertRows(table: TableName, shape: AppendShape, first: number): string {
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
