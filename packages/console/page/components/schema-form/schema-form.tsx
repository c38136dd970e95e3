import './schema-form.css'
import { useId, useState } from 'preact/hooks'
import { cleanLine } from '../clean-text.ts'
import { Icon } from '../elements.tsx'
import {
  asSchema,
  initialOf,
  planField,
  resolveSchema,
  type Choice,
  type FieldPlan,
  type Schema
} from './read-schema.ts'

/** Any JSON, entered as text. */
export function JsonField({
  id,
  describedBy,
  value,
  onChange,
  isRequired
}: {
  id: string
  describedBy?: string | undefined
  value: unknown
  onChange: (value: unknown) => void
  isRequired: boolean
}) {
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const change = (element: HTMLTextAreaElement) => {
    setText(element.value)
    element.setCustomValidity('')
    if (element.value.trim() === '') return onChange(undefined)
    try {
      onChange(JSON.parse(element.value))
    } catch (err) {
      element.setCustomValidity(`This is not JSON: ${(err as Error).message}`)
    }
  }
  return (
    <textarea
      class="input code"
      id={id}
      aria-describedby={describedBy}
      required={isRequired}
      spellcheck={false}
      placeholder="JSON"
      value={text}
      onInput={({ currentTarget }) => change(currentTarget)}
    />
  )
}

interface FieldProps {
  readonly schema: Schema
  readonly root: Schema
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly label: string
  readonly isRequired: boolean
  readonly depth: number
  /** Hides what is entered, such as credentials. */
  readonly isSecret?: boolean | undefined
}

/**
 * The fields of a JSON Schema, inside of a form. What it cannot show as fields is entered as JSON; the service checks the value in any case.
 */
export function SchemaForm({
  schema,
  value,
  onChange,
  label,
  isSecret
}: {
  schema: unknown
  value: unknown
  onChange: (value: unknown) => void
  label: string
  isSecret?: boolean
}) {
  const root = asSchema(schema)
  return (
    <div class="schema-form">
      <Field
        schema={root}
        root={root}
        value={value}
        onChange={onChange}
        label={label}
        isSecret={isSecret}
        isRequired
        depth={0}
      />
    </div>
  )
}

function Field(props: FieldProps) {
  const { root, label, depth, isRequired } = props
  const schema = resolveSchema(props.schema, root)
  const plan = planField(schema, depth)
  const id = useId()
  const title = titleOf(schema, label)
  const hint = typeof schema['description'] === 'string' ? cleanLine(schema['description'], 500) : undefined
  if (plan.as === 'object') return <ObjectField {...props} plan={plan} title={title} hint={hint} />
  if (plan.as === 'list') return <ListField {...props} plan={plan} title={title} hint={hint} />
  const describedBy = hint === undefined ? undefined : `${id}-hint`
  const control = { ...props, schema, id, describedBy }
  return (
    <div class={plan.as === 'boolean' ? 'field check' : 'field'}>
      <label for={id}>
        {title}
        {!isRequired && <span class="hint"> optional</span>}
      </label>
      <Control {...control} plan={plan} />
      {hint !== undefined && (
        <p class="hint" id={describedBy}>
          {hint}
        </p>
      )}
    </div>
  )
}

type ControlProps = FieldProps & { readonly id: string; readonly describedBy: string | undefined }

function Control({ plan, ...props }: ControlProps & { plan: FieldPlan }) {
  const { id, describedBy, value, onChange, schema, isRequired, isSecret } = props
  const common = { id, 'aria-describedby': describedBy, required: isRequired }
  switch (plan.as) {
    case 'boolean':
      return (
        <input
          id={id}
          aria-describedby={describedBy}
          type="checkbox"
          checked={value === true}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
      )
    case 'choice':
      return <ChoiceControl {...props} choices={plan.choices} />
    case 'number':
      return (
        <input
          {...common}
          class="input"
          type="number"
          step={plan.isInteger ? 1 : 'any'}
          min={numberOf(schema['minimum'])}
          max={numberOf(schema['maximum'])}
          value={typeof value === 'number' ? value : ''}
          onInput={({ currentTarget }) =>
            onChange(Number.isNaN(currentTarget.valueAsNumber) ? undefined : currentTarget.valueAsNumber)
          }
        />
      )
    case 'text': {
      const shared = {
        ...common,
        class: 'input',
        minLength: numberOf(schema['minLength']),
        maxLength: numberOf(schema['maxLength']),
        value: typeof value === 'string' ? value : '',
        onInput: ({ currentTarget }: { currentTarget: { value: string } }) =>
          onChange(currentTarget.value === '' && !isRequired ? undefined : currentTarget.value)
      }
      if (isSecret) return <input {...shared} type="password" autoComplete="off" />
      if (plan.type === 'long') return <textarea {...shared} />
      return (
        <input
          {...shared}
          type={(plan.type === 'datetime' ? 'text' : plan.type) as 'text'}
          autoComplete="off"
        />
      )
    }
    default:
      return (
        <JsonField
          id={id}
          describedBy={describedBy}
          value={value}
          onChange={onChange}
          isRequired={isRequired}
        />
      )
  }
}

function ChoiceControl({
  id,
  describedBy,
  choices,
  value,
  isRequired,
  onChange
}: ControlProps & { choices: readonly Choice[] }) {
  const chosen = choices.findIndex((choice) => JSON.stringify(choice.value) === JSON.stringify(value))
  return (
    <select
      class="input"
      id={id}
      aria-describedby={describedBy}
      required={isRequired}
      value={chosen === -1 ? '' : String(chosen)}
      onChange={({ currentTarget }) => onChange(choices[Number(currentTarget.value || -1)]?.value)}
    >
      <option value="">Choose …</option>
      {choices.map(({ label }, at) => (
        <option value={String(at)}>{cleanLine(label, 120)}</option>
      ))}
    </select>
  )
}

function ObjectField({
  plan,
  title,
  hint,
  ...props
}: FieldProps & { plan: FieldPlan & { as: 'object' }; title: string; hint: string | undefined }) {
  const { value, onChange, root, depth, isSecret } = props
  const fields = asSchema(value)
  const change = (name: string, entered: unknown) => {
    const { [name]: _, ...others } = fields
    onChange(entered === undefined ? others : { ...fields, [name]: entered })
  }
  const body = plan.fields.map(({ name, schema, isRequired }) => (
    <Field
      key={name}
      schema={schema}
      root={root}
      isRequired={isRequired}
      isSecret={isSecret}
      value={Object.hasOwn(fields, name) ? fields[name] : undefined}
      onChange={(entered) => change(name, entered)}
      label={name}
      depth={depth + 1}
    />
  ))
  return (
    <fieldset class="stack">
      <legend class={depth === 0 ? 'visually-hidden' : 'label'}>{title}</legend>
      {hint !== undefined && <p class="hint">{hint}</p>}
      {body}
    </fieldset>
  )
}

function ListField({
  plan,
  title,
  hint,
  ...props
}: FieldProps & { plan: FieldPlan & { as: 'list' }; title: string; hint: string | undefined }) {
  const { value, onChange, root, depth } = props
  const items = Array.isArray(value) ? (value as unknown[]) : []
  return (
    <fieldset class="stack list">
      <legend class="label">{title}</legend>
      {hint !== undefined && <p class="hint">{hint}</p>}
      {items.map((item, at) => (
        <div class="list-item">
          <Field
            schema={plan.item}
            root={root}
            value={item}
            label={`${title} ${at + 1}`}
            isRequired
            depth={depth + 1}
            onChange={(entered) => onChange(items.with(at, entered ?? null))}
          />
          <button
            type="button"
            class="button quiet icon"
            aria-label={`Remove ${title} ${at + 1}`}
            disabled={items.length <= plan.min}
            onClick={() => onChange(items.toSpliced(at, 1))}
          >
            <Icon name="cross" />
          </button>
        </div>
      ))}
      <button
        type="button"
        class="button"
        disabled={items.length >= plan.max}
        onClick={() => onChange([...items, initialOf(plan.item, root, depth + 1) ?? null])}
      >
        <Icon name="plus" /> Add
      </button>
    </fieldset>
  )
}

const numberOf = (value: unknown) => (typeof value === 'number' ? value : undefined)

const titleOf = ({ title }: Schema, label: string) =>
  cleanLine(typeof title === 'string' ? title : label, 120)
