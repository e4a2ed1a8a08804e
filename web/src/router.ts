// Every address of the page. Pages come as chunks of their own, when somebody goes there.

import { createRouter, createWebHistory } from 'vue-router'
import { watchHistory } from '@/history/keep'
import { watchMainScroll } from '@/history/mainScroll'

export const router = createRouter({
  history: createWebHistory('/'),
  routes: [
    { path: '/', component: () => import('@/pages/LivePage.vue'), meta: { title: 'Live' } },
    { path: '/tool-calls', component: () => import('@/pages/ToolCallsPage.vue'), meta: { title: 'Tool calls' } },
    { path: '/calls/:id', component: () => import('@/pages/CallPage.vue'), props: true, meta: { title: 'Call' } },
    { path: '/sessions', component: () => import('@/pages/SessionsPage.vue'), meta: { title: 'Sessions' } },
    { path: '/sessions/:id', component: () => import('@/pages/SessionPage.vue'), props: true, meta: { title: 'Session' } },
    { path: '/servers', component: () => import('@/pages/ServersPage.vue'), meta: { title: 'Servers' } },
    { path: '/servers/:name', component: () => import('@/pages/ServerPage.vue'), props: true, meta: { title: 'Server' } },
    { path: '/analytics', component: () => import('@/pages/AnalyticsPage.vue'), meta: { title: 'Analytics' } },
    { path: '/query', component: () => import('@/pages/QueryPage.vue'), meta: { title: 'Query' } },
    { path: '/settings', component: () => import('@/pages/SettingsPage.vue'), meta: { title: 'Settings' } },
    { path: '/connect', component: () => import('@/pages/ConnectPage.vue'), meta: { title: 'Connect' } },
    { path: '/:rest(.*)*', component: () => import('@/pages/NotFoundPage.vue'), meta: { title: 'Not found' } },
  ],
})

watchHistory(router)
watchMainScroll(router)
router.afterEach((to) => {
  document.title = `${String(to.meta.title)} · Callgate`
})
