import { randomInt } from 'node:crypto'
import { Type, type Static } from '@sinclair/typebox'
import type { CartLine } from './cart.ts'

/** Ways of delivery. Fees are in cents. */
export const DELIVERIES = {
  post: { label: 'By post, 3 to 5 days', fee: 490 },
  courier: { label: 'By courier, the next day', fee: 1190 },
  'pick-up': { label: 'Pick up in the shop', fee: 0 }
}
export const COUNTRIES = ['Austria', 'France', 'Germany', 'Ireland', 'Netherlands', 'United Kingdom'] as const
/** Cents. */
export const GIFT_WRAP = 300

const text = (maxLength: number) => Type.String({ maxLength, default: '' })

/** The order form as it was sent; what was left out is empty. */
export const OrderFormSchema = Type.Object({
  name: text(100),
  email: text(200),
  phone: text(40),
  address: text(500),
  country: text(40),
  delivery: text(20),
  date: text(20),
  gift: text(5),
  note: text(1_000),
  terms: text(5)
})
export type OrderForm = Static<typeof OrderFormSchema>

/** A sentence for each field that must be corrected. */
export type OrderFaults = Partial<Record<keyof OrderForm, string>>

/** A placed order. */
export interface Order {
  number: string
  lines: readonly CartLine[]
  form: OrderForm
  /** Cents, with delivery and gift wrap. */
  total: number
}

export const EMPTY_ORDER: OrderForm = {
  name: '',
  email: '',
  phone: '',
  address: '',
  country: 'Ireland',
  delivery: 'post',
  date: '',
  gift: '',
  note: '',
  terms: ''
}

const EMAIL = /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/
const PHONE = /^\+?[\d ()/-]{5,30}$/

/** Checks an order form; `today` is an ISO date. */
export function checkOrder(form: OrderForm, today: string): OrderFaults {
  const faults: OrderFaults = {}
  if (form.name.trim() === '') faults.name = 'Enter your name.'
  if (!EMAIL.test(form.email)) faults.email = 'Enter an e-mail address, such as ada@example.org.'
  if (form.phone !== '' && !PHONE.test(form.phone)) faults.phone = 'Enter digits, such as +353 20 910 0000.'
  if (!Object.hasOwn(DELIVERIES, form.delivery)) faults.delivery = 'Choose how to deliver.'
  if (form.address.trim() === '' && form.delivery !== 'pick-up')
    faults.address = 'Enter the address of the delivery.'
  if (!COUNTRIES.some((country) => country === form.country)) faults.country = 'Choose a country of the list.'
  if (form.date !== '' && !(isDate(form.date) && form.date >= today))
    faults.date = 'Choose a day from today on.'
  if (form.terms === '') faults.terms = 'Accept the terms of sale.'
  return faults
}

/** Makes an order of a form without faults, under a new number. */
export function createOrder(lines: readonly CartLine[], form: OrderForm): Order {
  const number = `HS-${randomInt(100_000, 1_000_000)}`
  const goods = lines.reduce((sum, { offer, quantity }) => sum + offer.price * quantity, 0)
  const fee = DELIVERIES[form.delivery as keyof typeof DELIVERIES].fee
  return { number, lines, form, total: goods + fee + (form.gift === '' ? 0 : GIFT_WRAP) }
}

function isDate(value: string): boolean {
  return (
    /^\d{4}-\d\d-\d\d$/.test(value) &&
    !Number.isNaN(Date.parse(value)) &&
    new Date(value).toISOString().startsWith(value)
  )
}
