// The typed client: paths, parameters and answers come from docs/openapi.json (`npm run api`).
// `await read(api.GET('/api/v1/servers'))` gives the answer or throws an ApiProblem.

import createClient from 'openapi-fetch'
import { problemOf } from './problem'
import type { components, operations, paths } from './schema'
import { send } from './send'

type Schemas = components['schemas']
export type Call = Schemas['ExchangeShape']
export type WholeCall = Schemas['WholeExchange']
export type Hop = Schemas['HopShape']
export type Session = Schemas['SessionShape']
export type LaneEvent = Schemas['LaneEvent']
export type Server = Schemas['ServerShape']
export type Tool = Schemas['ToolShape']
export type Replica = Schemas['ReplicaShape']
export type ReplicaList = Schemas['ReplicaList']
export type ClientList = Schemas['ClientList']
export type ClientEntry = Schemas['ClientShape']
export type ServerTrust = Schemas['ServerTrustShape']
export type TrustItem = Schemas['TrustItemShape']
export type About = Schemas['AboutShape']
export type Stats = Schemas['StatsShape']
export type Facets = Schemas['FacetsShape']
export type QueryAnswer = Schemas['QueryAnswer']
export type CallAnswer = Schemas['CallAnswer']
export type SessionQuery = NonNullable<operations['listSessions']['parameters']['query']>
export type CallQuery = NonNullable<operations['listToolCalls']['parameters']['query']>

export const api = createClient<paths>({
  baseUrl: globalThis.location?.origin ?? '',
  fetch: send,
  querySerializer: { array: { style: 'form', explode: true } },
})

interface Told<T> {
  data?: T
  error?: unknown
  response: Response
}

export async function read<T>(asked: Promise<Told<T>>): Promise<T> {
  const { data, error, response } = await asked
  if (data === undefined || !response.ok) throw problemOf(response.status, error)
  return data
}
