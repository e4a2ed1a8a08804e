// mcpload: closed-loop MCP Streamable HTTP load generator (single thread, epoll).
// Every connection does initialize + notifications/initialized once (own session), then sends
// tools/call POSTs back to back.  EVERY reply is verified: HTTP 200, same JSON-RPC id, "result" present,
// no "isError":true, and every -e string (with %n replaced) present.  Replies may be application/json
// (Content-Length or chunked) or text/event-stream.
// Says "measuring" on stderr when the warm-up is over, so that others can read their clocks too.
// With -p its connections stay open and their calls in flight: it measures again for every line on stdin, after
// another warm-up, until stdin ends.
// With -M it is a client of the modern era: no handshake, its envelope and headers with every call.
// build: gcc -O2 -o mcpload mcpload.c
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <getopt.h>
#include "jsonv.h"

#define MAXE 8
// Replies with -p, however long they take: until connections are open again after a pause; of a measurement.
#define RESUMED 128
#define ENOUGH 500
static const char *tool = "echo", *args_t = "{\"text\":\"hello-%n\"}", *args_l[64], *proto = "2025-06-18";
static const char *expect[MAXE]; static int nexpect, nargs;
static char extra[4096]; static char host[128]; static int port; static char path[1024];
#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"mcpload\",\"version\":\"1\"},\"io.modelcontextprotocol/clientCapabilities\":{}},"
static const char *rawbody = NULL, *meta = ""; static int conns = 1, shared = 0, noinit = 0, noverify = 0, listtools = 0, paced = 0, modern = 0; static long modulo = 0;
static double secs = 5, warm = 1, rate = 0; static uint64_t maxreq = 0;
static uint64_t next_n = 0;

typedef struct { int fd; char *rb; size_t rlen, rcap, hdr_end, cpos; long clen; int chunked, closeafter, status, hdrdone;
  char *body; size_t blen, bcap; char sid[512]; uint64_t id, n, t0; } conn_t;

static uint64_t now_ns(void){ struct timespec t; clock_gettime(CLOCK_MONOTONIC,&t); return (uint64_t)t.tv_sec*1000000000ull+t.tv_nsec; }
static void die(const char *m){ fprintf(stderr,"mcpload: %s (%s)\n",m,strerror(errno)); exit(2); }

static int dial(void){
  struct sockaddr_in a={.sin_family=AF_INET,.sin_port=htons(port)}; inet_pton(AF_INET,host,&a.sin_addr);
  int fd=socket(AF_INET,SOCK_STREAM,0); int one=1; setsockopt(fd,IPPROTO_TCP,TCP_NODELAY,&one,sizeof one);
  struct timeval tv={30,0}; setsockopt(fd,SOL_SOCKET,SO_RCVTIMEO,&tv,sizeof tv);
  if(connect(fd,(void*)&a,sizeof a)) { close(fd); return -1; } return fd; }

static size_t subst(char *o,size_t cap,const char *t,uint64_t n){ size_t k=0; char num[24]; int l=sprintf(num,"%llu",(unsigned long long)n);
  for(;*t&&k+32<cap;){ if(t[0]=='%'&&t[1]=='n'){ memcpy(o+k,num,l); k+=l; t+=2; } else o[k++]=*t++; } o[k]=0; return k; }

static void reset(conn_t*c){ c->rlen=c->blen=c->hdr_end=c->cpos=0; c->clen=-1; c->chunked=c->closeafter=c->status=c->hdrdone=0; }
static void addbody(conn_t*c,const char*p,size_t n){ if(c->blen+n+1>c->bcap){ c->bcap=(c->blen+n+1)*2; c->body=realloc(c->body,c->bcap);} memcpy(c->body+c->blen,p,n); c->blen+=n; c->body[c->blen]=0; }

// 1 = complete, 0 = need more, -1 = malformed
static int parse(conn_t*c,int eof){
  if(!c->hdrdone){
    char*e=memmem(c->rb,c->rlen,"\r\n\r\n",4); if(!e) return eof?-1:0;
    c->hdr_end=e-c->rb+4; c->hdrdone=1; c->cpos=c->hdr_end; e[2]=0;
    if(c->rlen<12||memcmp(c->rb,"HTTP/1.",7)) return -1;
    c->status=atoi(c->rb+9);
    for(char*l=strstr(c->rb,"\r\n");l&&l[2];l=strstr(l,"\r\n")){ l+=2;
      if(!strncasecmp(l,"content-length:",15)) c->clen=atol(l+15);
      else if(!strncasecmp(l,"transfer-encoding:",18)&&strcasestr(l,"chunked")) { char*x=strstr(l,"\r\n"),*k=strcasestr(l,"chunked"); if(!x||k<x) c->chunked=1; }
      else if(!strncasecmp(l,"connection:",11)){ char*x=strstr(l,"\r\n"),*k=strcasestr(l,"close"); if(k&&(!x||k<x)) c->closeafter=1; }
      else if(!strncasecmp(l,"mcp-session-id:",15)&&!c->sid[0]){ char*v=l+15; while(*v==' ')v++; size_t k=strcspn(v,"\r\n"); if(k<sizeof c->sid){ memcpy(c->sid,v,k); c->sid[k]=0; } }
    }
    if(c->status==204||(c->status==202&&c->clen<0&&!c->chunked)) c->clen=0;
  }
  if(c->chunked){
    for(;;){ char*p=c->rb+c->cpos; size_t left=c->rlen-c->cpos; char*e=memmem(p,left,"\r\n",2); if(!e) return eof?-1:0;
      unsigned long n=strtoul(p,NULL,16); size_t need=(e-p)+2+n+2; if(left<need) return eof?-1:0;
      if(n==0) return 1; addbody(c,e+2,n); c->cpos+=need; }
  }
  if(c->clen>=0){ if(c->rlen-c->hdr_end<(size_t)c->clen) return eof?-1:0; addbody(c,c->rb+c->hdr_end,c->clen); return 1; }
  if(eof){ addbody(c,c->rb+c->hdr_end,c->rlen-c->hdr_end); c->closeafter=1; return 1; }
  return 0; }

static int sendall(int fd,const char*p,size_t n){ while(n){ ssize_t k=send(fd,p,n,MSG_NOSIGNAL); if(k<0){ if(errno==EAGAIN){ usleep(50); continue;} return -1;} p+=k; n-=k;} return 0; }
static int fill(conn_t*c){ if(c->rcap-c->rlen<65536){ c->rcap=c->rcap?c->rcap*2:131072; c->rb=realloc(c->rb,c->rcap);} ssize_t k=recv(c->fd,c->rb+c->rlen,c->rcap-c->rlen-1,0); if(k>0){ c->rlen+=k; c->rb[c->rlen]=0; } return k; }

static int post(conn_t*c,const char*body,size_t bl){
  char h[8192]; int k=snprintf(h,sizeof h,"POST %s HTTP/1.1\r\nHost: %s:%d\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%s%s%s%s%s%s%sContent-Length: %zu\r\n\r\n",
    path,host,port, c->sid[0]?"Mcp-Session-Id: ":"",c->sid,c->sid[0]?"\r\n":"", (c->sid[0]||noinit)?"MCP-Protocol-Version: ":"",(c->sid[0]||noinit)?proto:"",(c->sid[0]||noinit)?"\r\n":"", extra, bl);
  char buf[65536]; if(k+bl>sizeof buf) die("request too large"); memcpy(buf,h,k); memcpy(buf+k,body,bl); return sendall(c->fd,buf,k+bl); }

static int roundtrip(conn_t*c,const char*b){ reset(c); if(c->fd<0&&(c->fd=dial())<0) return -1; if(post(c,b,strlen(b))) return -1;
  for(;;){ int k=fill(c); int r=parse(c,k<=0); if(r) { if(c->closeafter||k<=0){ close(c->fd); c->fd=-1; } return r; } if(k<=0) return -1; } }

static void handshake(conn_t*c,int first){ char b[1024];
  snprintf(b,sizeof b,"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{},\"clientInfo\":{\"name\":\"mcpload\",\"version\":\"1\"}}}",proto);
  if(roundtrip(c,b)<0||c->status!=200){ fprintf(stderr,"mcpload: initialize failed status=%d: %.800s\n",c->status,c->rb?c->rb:""); exit(3); }
  if(!memmem(c->body,c->blen,"\"result\"",8)){ fprintf(stderr,"mcpload: initialize: no result: %.800s\n",c->body); exit(3); }
  if(roundtrip(c,"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")<0||c->status/100!=2){ fprintf(stderr,"mcpload: initialized notification failed status=%d %.400s\n",c->status,c->rb); exit(3); }
  if(first&&listtools){ if(roundtrip(c,"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}")<0) die("tools/list"); fprintf(stderr,"%s\n",c->body); }
}

static int fire(conn_t*c){ static char a[32768],b[49152]; uint64_t k=++next_n; c->id=k; c->n=modulo?(k%modulo)+1:k; subst(a,sizeof a,nargs>1?args_l[rand()%nargs]:args_t,c->n);
  int l=rawbody?(int)subst(b,sizeof b,rawbody,c->n):snprintf(b,sizeof b,"{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"tools/call\",\"params\":{%s\"name\":\"%s\",\"arguments\":%s}}",(unsigned long long)c->id,meta,tool,a);
  reset(c); c->t0=now_ns(); return post(c,b,l); }

static int verify(conn_t*c){ if(c->status!=200) return 0; if(noverify) return 1; char t[512];
  if(c->blen&&c->body[0]=='{'){ if(!jvalid(c->body,c->blen)) return 0; }
  else { char*d=memmem(c->body,c->blen,"data: ",6); int seen=0; while(d){ d+=6; char*x=memchr(d,'\n',c->body+c->blen-d); if(!x) return 0; size_t n=x-d; if(n&&d[n-1]=='\r') n--; if(n){ if(!jvalid(d,n)) return 0; seen=1; } d=memmem(x,c->body+c->blen-x,"\ndata: ",7); if(d) d++; } if(!seen) return 0; }
  char*p=c->body,*e=c->body+c->blen; int idok=0; int l=sprintf(t,"%llu",(unsigned long long)c->id);
  while(p<e&&(p=memmem(p,e-p,"\"id\":",5))){ p+=5; while(p<e&&*p==' ')p++; if(e-p>l&&!memcmp(p,t,l)&&(p[l]<'0'||p[l]>'9')){ idok=1; break; } }
  if(!rawbody&&!idok) return 0;
  if(!rawbody&&!memmem(c->body,c->blen,"\"result\"",8)) return 0;
  if(memmem(c->body,c->blen,"\"isError\":true",14)||memmem(c->body,c->blen,"\"isError\": true",15)) return 0;
  for(int i=0;i<nexpect;i++){ size_t k=subst(t,sizeof t,expect[i],c->n); if(!memmem(c->body,c->blen,t,k)) return 0; } return 1; }

static int cmp(const void*a,const void*b){ uint64_t x=*(uint64_t*)a,y=*(uint64_t*)b; return x<y?-1:x>y; }

int main(int ac,char**av){ int o; 
  while((o=getopt(ac,av,"c:d:w:t:a:e:H:P:m:n:B:r:sixlpMh"))!=-1) switch(o){
    case 'c':conns=atoi(optarg);break; case 'd':secs=atof(optarg);break; case 'w':warm=atof(optarg);break; case 't':tool=optarg;break; case 'a':args_t=optarg;if(nargs<64)args_l[nargs++]=optarg;break;
    case 'e':if(nexpect<MAXE)expect[nexpect++]=optarg;break; case 'H':strcat(extra,optarg);strcat(extra,"\r\n");break; case 'P':proto=optarg;break; case 'm':modulo=atol(optarg);break;
    case 'n':maxreq=strtoull(optarg,0,10);break; case 'r':rate=atof(optarg);break; case 's':shared=1;break; case 'i':noinit=1;break; case 'x':noverify=1;break; case 'l':listtools=1;break; case 'p':paced=1;break; case 'M':modern=1;break; case 'B':rawbody=optarg;noinit=1;break;
    default: fprintf(stderr,"usage: mcpload [-c conns] [-d secs] [-w warmup] [-t tool] [-a args-json with %%n, one of several at random]... [-e expect]... [-H header]... [-P proto] [-m modulo of n] [-n max requests] [-r requests a second, latency from when each was due] [-s one shared session] [-i no initialize] [-M modern client] [-x no verification] [-l print tools/list] [-p measure for each line on stdin] [-B raw body with %%n, no MCP framing (REST peers)] http://127.0.0.1:PORT/path\n"); return 2; }
  if(modern){ char h[600]; noinit=1; proto="2026-07-28"; meta=META; snprintf(h,sizeof h,"Mcp-Method: tools/call\r\nMcp-Name: %s\r\n",tool); strcat(extra,h); }
  if(optind>=ac) die("url missing"); const char*u=av[optind]; if(sscanf(u,"http://%127[^:/]:%d%1023s",host,&port,path)<2) die("bad url, want http://IP:PORT/path"); if(!path[0]) strcpy(path,"/"); if(!strcmp(host,"localhost")) strcpy(host,"127.0.0.1");
  if(!nexpect&&!strcmp(args_t,"{\"text\":\"hello-%n\"}")) expect[nexpect++]="hello-%n";
  conn_t*cs=calloc(conns,sizeof *cs); for(int i=0;i<conns;i++){ cs[i].fd=-1; }
  uint64_t h0=now_ns();
  for(int i=0;i<conns;i++){ if(!noinit){ if(shared&&i) strcpy(cs[i].sid,cs[0].sid); else handshake(&cs[i],i==0);} if(cs[i].fd<0&&(cs[i].fd=dial())<0) die("connect"); }
  double hs=(now_ns()-h0)/1e9;
  int ep=epoll_create1(0); struct epoll_event ev,evs[256];
  for(int i=0;i<conns;i++){ fcntl(cs[i].fd,F_SETFL,O_NONBLOCK); ev.events=EPOLLIN; ev.data.u32=i; epoll_ctl(ep,EPOLL_CTL_ADD,cs[i].fd,&ev); }
  size_t cap=1<<20,cnt=0; uint64_t*lat=malloc(cap*8),err=0,ok_all=0,ok_before=0,bytes=0,reconn=0; char sample[600]="";
  uint64_t start=now_ns(),rec=start+(uint64_t)(warm*1e9),end=rec+(uint64_t)(secs*1e9); struct rusage r0,r1; int recording=0; getrusage(RUSAGE_SELF,&r0);
  if(maxreq) end=start+600ull*1000000000ull, rec=start;
  int*idle=malloc(conns*sizeof *idle),nidle=0; uint64_t fired=0;
  for(int i=0;i<conns;i++){ if(rate>0) idle[nidle++]=i; else if(fire(&cs[i])) die("send"); }
  uint64_t t=start,lastprog=start; int done=0;
  for(;;){
  while(!done){ int k=epoll_wait(ep,evs,256,nidle?1:1000); t=now_ns();
    while(nidle){ uint64_t due=start+(uint64_t)(fired*1e9/rate); if(due>t) break; conn_t*c=&cs[idle[--nidle]]; fired++; if(fire(c)) err++; c->t0=due; }
    if(!recording&&t>=rec&&(!paced||ok_all-ok_before>=RESUMED)){ recording=1; rec=t; end=maxreq?end:rec+(uint64_t)(secs*1e9); getrusage(RUSAGE_SELF,&r0); fputs("measuring\n",stderr); }
    if(t>=end&&(!paced||(recording&&cnt>=ENOUGH))) break;
    if(t-lastprog>30000000000ull){ snprintf(sample,sizeof sample,"stalled 30s without any reply"); err++; break; }
    for(int j=0;j<k&&!done;j++){ conn_t*c=&cs[evs[j].data.u32]; int n=fill(c); if(n<0&&errno==EAGAIN) continue; int eof=n<=0; int r=parse(c,eof);
      if(r==0&&!eof) continue; t=now_ns(); lastprog=t; int good=r==1&&verify(c);
      if(good){ ok_all++; bytes+=c->rlen; if(recording){ if(cnt==cap){ cap*=2; lat=realloc(lat,cap*8);} lat[cnt++]=t-c->t0; } }
      else { err++; if(!sample[0]) snprintf(sample,sizeof sample,"id=%llu status=%d parse=%d eof=%d body=%.400s",(unsigned long long)c->id,c->status,r,eof,c->blen?c->body:""); if(err>200) done=1; }
      if(maxreq&&ok_all+err>=maxreq){ done=1; }
      if(eof||c->closeafter||r<0){ epoll_ctl(ep,EPOLL_CTL_DEL,c->fd,NULL); close(c->fd); reconn++; c->fd=dial(); if(c->fd<0){ err++; snprintf(sample,sizeof sample,"reconnect refused"); done=1; break; } fcntl(c->fd,F_SETFL,O_NONBLOCK); ev.events=EPOLLIN; ev.data.u32=evs[j].data.u32; epoll_ctl(ep,EPOLL_CTL_ADD,c->fd,&ev); }
      if(rate>0) idle[nidle++]=(int)(c-cs); else if(!done&&fire(c)) { err++; } } }
  getrusage(RUSAGE_SELF,&r1); double el=(now_ns()-rec)/1e9; if(!recording) el=(now_ns()-start)/1e9;
  qsort(lat,cnt,8,cmp); double cpu=(r1.ru_utime.tv_sec-r0.ru_utime.tv_sec)+(r1.ru_stime.tv_sec-r0.ru_stime.tv_sec)+((r1.ru_utime.tv_usec-r0.ru_utime.tv_usec)+(r1.ru_stime.tv_usec-r0.ru_stime.tv_usec))/1e6;
  #define Q(q) (cnt?lat[(size_t)((cnt-1)*q)]/1e3:0)
  for(char*s=sample;*s;s++) if(*s=='"'||*s=='\\'||*s<32) *s='\'';
  printf("{\"conns\":%d,\"secs\":%.2f,\"ok\":%zu,\"err\":%llu,\"rps\":%.1f,\"ok_all\":%llu,\"p50_us\":%.1f,\"p95_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f,\"reply_bytes\":%.0f,\"reconnects\":%llu,\"handshake_s\":%.3f,\"load_cpu\":%.3f,\"err_sample\":\"%s\"}\n",
    conns,el,cnt,(unsigned long long)err,cnt/el,(unsigned long long)ok_all,Q(.5),Q(.95),Q(.99),Q(1.0),ok_all?(double)bytes/ok_all:0,(unsigned long long)reconn,hs,cpu/el,sample);
  fflush(stdout); if(!paced||err||getchar()==EOF) return err?1:0;
  start=lastprog=now_ns(); rec=start+(uint64_t)(warm*1e9); end=rec+(uint64_t)(secs*1e9); cnt=0; recording=0; ok_before=ok_all; } }
