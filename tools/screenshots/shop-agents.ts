import { setTimeout as wait } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { Agent, defineTool, Team, toolContent, type Tool } from '@svc/runtime'
import { scriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import type { Drawings } from './drawings.ts'

const STOCK = { Sencha: 0, Lapsang: 3, 'White peony': 4, Oolong: 5 }
const SALES = { Sencha: 9, Lapsang: 7, 'White peony': 3, Oolong: 3 }
/** Milliseconds between two parts of a model. */
const DELAY = 30
/** Milliseconds of a query. */
const QUERY = 140

const readStock = defineTool({
  name: 'read_stock',
  description: 'Reads how many packs are on the shelf.',
  input: Type.Object({ category: Type.String() }),
  execute: () => wait(QUERY, STOCK)
})

const readSales = defineTool({
  name: 'read_sales',
  description: 'Reads how many packs were sold.',
  input: Type.Object({ category: Type.String(), days: Type.Integer({ minimum: 1 }) }),
  execute: () => wait(2 * QUERY, SALES)
})

const placeOrder = defineTool({
  name: 'place_order',
  description: 'Orders from a supplier. It needs an approval.',
  input: Type.Object({
    supplier: Type.String(),
    packs: Type.Record(Type.String(), Type.Integer()),
    total: Type.String()
  }),
  approval: true,
  execute: ({ supplier }) => ({ supplier, number: 'HT-2207', arrives: 'Thursday' })
})

const askRegulars = defineTool({
  name: 'ask_regulars',
  description: 'Asks ten regular customers. It needs an approval.',
  input: Type.Object({ question: Type.String() }),
  approval: true,
  execute: () => wait(QUERY, { 'Harbour Smoke': 7, 'Pine & Ember': 3 })
})

const SHELF_ANSWER = `Two teas run out this week: **Sencha** is gone already, and **Lapsang** lasts for three more days.

| tea | on the shelf | sold in 7 days | order |
|---|---|---|---|
| Sencha | 0 | 9 | 24 |
| Lapsang | 3 | 7 | 18 |`

/** Registers the agents and the team of the shop's office, beside those of the demo: they reason, draw, and work in parallel. */
export function addShopAgents({ chart }: Drawings): void {
  const drawChart = defineTool({
    name: 'draw_chart',
    description: 'Draws a bar chart.',
    input: Type.Object({ title: Type.String() }),
    execute: () =>
      toolContent([
        {
          type: 'image',
          mimeType: 'image/png',
          filename: 'days-of-stock.png',
          data: chart.toString('base64')
        }
      ])
  })
  agent('buyer', 'Decides what the shop orders, and orders it once that is approved.', {
    tools: [readStock, readSales, drawChart, placeOrder],
    turns: (message) => (message.startsWith('Order') ? ORDER : SHELF)
  })
  agent('translator', 'Translates the catalogue.', { turns: () => [{ text: 'Chapter 1', hangs: 'stream' }] })
  agent('supplier', 'Asks a supplier for prices.', {
    turns: () => [{ errorPart: new Error('The supplier has closed') }]
  })
  new Team({
    name: 'naming',
    description: 'Finds a name for a product: a merchant, a writer and a critic work at once.',
    mode: 'parallel',
    members: [
      member('merchant', [readSales], MERCHANT),
      member('writer', [], WRITER),
      member('critic', [askRegulars], CRITIC)
    ],
    merge: () => ({
      text: 'The regulars prefer **Harbour Smoke**, seven to three.',
      structured: { name: 'Harbour Smoke', claim: 'Tea by the fire, at sea.', votes: 7, of: 10 }
    })
  })
}

const SHELF: readonly ScriptedTurn[] = [
  {
    reasoning: words(
      'The photo shows four teas, and one tin is empty. What is on the shelf says little without what was sold, so I read both.'
    ),
    toolCalls: [
      { toolCallId: 'stock', toolName: 'read_stock', args: { category: 'Tea' } },
      { toolCallId: 'sales', toolName: 'read_sales', args: { category: 'Tea', days: 7 } }
    ]
  },
  { toolCalls: [{ toolCallId: 'chart', toolName: 'draw_chart', args: { title: 'Days of stock' } }] },
  { text: words(SHELF_ANSWER) }
]

const ORDER: readonly ScriptedTurn[] = [
  {
    toolCalls: [
      {
        toolName: 'place_order',
        args: { supplier: 'Harbour Tea Traders', packs: { Sencha: 24, Lapsang: 18 }, total: '386.40 EUR' }
      }
    ]
  },
  { text: words('Ordered: HT-2207 arrives on Thursday.') }
]

const MERCHANT: readonly ScriptedTurn[] = [
  { toolCalls: [{ toolName: 'read_sales', args: { category: 'Tea', days: 90 } }] },
  {
    text: words(
      'Smoked teas sell in autumn, mostly as presents. The name should sound *warm*, and fit on a tin.'
    )
  }
]

const WRITER: readonly ScriptedTurn[] = [
  {
    reasoning: words('Smoke, pine, the harbour: short words, no pun.'),
    text: words('1. **Harbour Smoke**\n2. **Pine & Ember**\n3. **Late Ferry**')
  }
]

const CRITIC: readonly ScriptedTurn[] = [
  { toolCalls: [{ toolName: 'ask_regulars', args: { question: 'Which name would you remember?' } }] },
  { text: words('*Late Ferry* says nothing of tea. Of the other two, seven of ten remember the first one.') }
]

type Turns = readonly ScriptedTurn[]

function member(name: string, tools: readonly Tool[], turns: Turns): Agent {
  return agent(name, `The ${name} of the team.`, { tools, turns: () => turns, register: false })
}

function agent(
  name: string,
  description: string,
  { turns, ...options }: { turns(message: string): Turns; tools?: readonly Tool[]; register?: boolean }
): Agent {
  const model = scriptedModel(
    ({ prompt }) => {
      const asked = prompt.findLastIndex(({ role }) => role === 'user')
      const step = prompt.slice(asked).filter(({ role }) => role === 'assistant').length
      const { content } = prompt[asked]!
      const message = (content as { text?: string }[]).map(({ text = '' }) => text).join('')
      const turn = turns(message)[step]!
      const length = JSON.stringify(turn).length
      return {
        delay: DELAY,
        usage: { promptTokens: 640 + 90 * prompt.length, completionTokens: Math.ceil(length / 4) },
        ...turn
      }
    },
    { provider: 'offline', modelId: 'script', record: false, supportedUrls: {} }
  )
  return new Agent({ name, description, model, retry: { attempts: 1 }, ...options })
}

/** As a model says it: some words at a time. */
function words(text: string): string[] {
  return text.match(/(?:\S+\s*){1,4}/g) ?? []
}
