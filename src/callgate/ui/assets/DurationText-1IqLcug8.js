<<<<<<<< HEAD:src/callgate/ui/assets/DurationText-0tLgqYtY.js
import{J as e,M as t,T as n,Y as r,Z as i,b as a,g as o}from"./vue-z8I6egBS.js";import{L as s}from"./parts-B-UrauFC.js";var c=n({__name:`DurationText`,props:{ms:{},plain:{type:Boolean}},setup(n){let c=n,l=o(()=>{let e=c.ms??0;return c.plain||e<1e3?``:e<1e4?`font-semibold`:`font-semibold text-warning`});return(o,c)=>(t(),a(`span`,{class:r([`font-mono tabular-nums`,l.value])},i(e(s)(n.ms)),3))}});export{c as t};
========
import{J as e,M as t,T as n,Y as r,Z as i,b as a,g as o}from"./vue-z8I6egBS.js";import{L as s}from"./parts-DcLpXwll.js";var c=n({__name:`DurationText`,props:{ms:{},plain:{type:Boolean}},setup(n){let c=n,l=o(()=>{let e=c.ms??0;return c.plain||e<1e3?``:e<1e4?`font-semibold`:`font-semibold text-warning`});return(o,c)=>(t(),a(`span`,{class:r([`font-mono tabular-nums`,l.value])},i(e(s)(n.ms)),3))}});export{c as t};
>>>>>>>> deploy:src/callgate/ui/assets/DurationText-1IqLcug8.js
